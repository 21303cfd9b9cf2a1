"""Synchronous parameter servers: two workers train as one process with both batches would, and end together."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import train
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data
from tests.strategies.token_jobs import train_with_a_late_request

CHIEF, OTHER = TaskId("worker", 0), TaskId("worker", 1)
STEPS = 20


def trained(name: str, *, ps: int = 1, **options: Any) -> dict[TaskId, Any]:
    layout = Layout(2, ps=ps)
    return run_tasks(layout, train, strategy="ps_sync", name=name, steps=STEPS, replicas=2, ps=ps, **options)


def test_two_workers_are_one_process_with_both_batches() -> None:
    results = trained("linear_decayed", ps=2)
    kernel, bias = train_by_hand(linear_data(None), "momentum", STEPS, decay=0.5)
    for worker in (CHIEF, OTHER):
        np.testing.assert_allclose(results[worker]["after"][0], kernel, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(results[worker]["after"][1], bias, rtol=1e-3, atol=1e-4)
        # An update is made of one gradient of each worker: as many as each worker's steps.
        assert results[worker]["updates"] == STEPS
        facts = results[worker]["facts"]
        assert facts["variables on /job:ps/task:0"] == "1, 16 B"
        assert facts["max/mean bytes of a server"] == "1.60"
        # Weight decay reads the kernel a second time, but does not fetch it a second time.
        assert facts["bytes pulled per step and worker"] == "28 B in 3 tensors"  # with the token
        assert facts["bytes pushed per step and worker"] == "36 B in 4 tensors"  # with the number of the step for each


def test_two_workers_apply_rmsprop_to_the_mean_of_their_gradients() -> None:
    results = trained("linear_rmsprop")
    kernel, bias = train_by_hand(linear_data(None), "rmsprop", STEPS)
    for worker in (CHIEF, OTHER):
        np.testing.assert_allclose(results[worker]["after"][0], kernel, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(results[worker]["after"][1], bias, rtol=1e-3, atol=1e-4)


def test_nobody_keeps_the_token_of_a_worker_that_asks_late() -> None:
    """Else worker 0 would be a step ahead, and worker 1 wait for ever in its last."""
    results = run_tasks(Layout(2, ps=1), train_with_a_late_request, steps=STEPS, name="linear_decayed")
    kernel, bias = train_by_hand(linear_data(None), "momentum", STEPS, decay=0.5)
    for worker in (CHIEF, OTHER):
        assert results[worker]["updates"] == STEPS
        np.testing.assert_allclose(results[worker]["after"][0], kernel, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(results[worker]["after"][1], bias, rtol=1e-3, atol=1e-4)


def test_a_keras_model_on_a_fed_batch_with_split_variables() -> None:
    results = trained("keras_dense", ps=2, placement="partitioned", feed=True, params={"width": 20_000})
    for worker in (CHIEF, OTHER):
        assert results[worker]["updates"] == STEPS
        assert results[worker]["losses"][-1] < results[worker]["losses"][0]
        # Kernel of 640 kB in two; three of 80 kB, bias of 160 kB, of the norm four of 80 kB.
        assert [weights.shape for weights in results[worker]["after"]][:2] == [(8, 20_000), (20_000,)]
        assert float(results[worker]["facts"]["max/mean bytes of a server"]) < 1.1
    for one, other in zip(results[CHIEF]["after"], results[OTHER]["after"]):
        np.testing.assert_array_equal(one, other)
