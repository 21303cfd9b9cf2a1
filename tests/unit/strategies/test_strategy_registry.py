"""Strategies by name, their options and the tasks that they ask for; no TensorFlow."""

from __future__ import annotations

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies.base import Strategy
from pytest_tfperf.strategies.registry import get, names, resolve_options

ALL = ["single", "independent", "tower", "ps_async", "ps_sync", "mirrored", "multi_worker_mirrored", "parameter_server"]


@pytest.mark.parametrize("name", ALL)
def test_strategies_are_found_by_name(name: str) -> None:
    strategy: Strategy = get(name)
    assert strategy.name == name
    assert name in names()


def test_an_unknown_name_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match=r"no strategy 'ps_asinc'. Did you mean 'ps_async'\? Known: "):
        get("ps_asinc")


def test_options_are_complete_and_checked() -> None:
    assert resolve_options(get("ps_async"), {"ps": 2}) == {"ps": 2, "placement": "round_robin", "feed": False}
    assert resolve_options(get("multi_worker_mirrored"), {}) == {
        "communication": "auto",
        "compression": "none",
        "pack_gradients": True,
        "pack_variables": False,
        "steps_per_call": 1,
    }
    with pytest.raises(
        UsageError, match=r"Strategy 'ps_async' has no option 'pss'. Did you mean 'ps'\? It has: feed, p"
    ):
        resolve_options(get("ps_async"), {"pss": 2})
    for name in ("single", "independent"):
        with pytest.raises(UsageError, match=f"Strategy '{name}' has no option 'ps'. It has: pack_variables"):
            resolve_options(get(name), {"ps": 1})
    with pytest.raises(UsageError, match="pack_gradients must be a bool"):
        resolve_options(get("multi_worker_mirrored"), {"pack_gradients": 1})


def test_layouts() -> None:
    assert get("single").layout(1, {}) == Layout(workers=1)
    assert get("independent").layout(4, {}) == Layout(workers=4)
    assert get("multi_worker_mirrored").layout(4, {"communication": "nccl"}) == Layout(workers=4)
    assert get("ps_async").layout(3, {"ps": 2}) == Layout(workers=3, ps=2)
    assert get("ps_sync").layout(3, {"ps": 2}) == Layout(workers=3, ps=2)
    for name in ("tower", "mirrored"):
        assert get(name).layout(4, {}) == Layout(workers=1, replicas_per_worker=4)
    # Its chief schedules what the workers do.
    assert get("parameter_server").layout(2, {}) == Layout(workers=2, ps=1, chief=True, chief_trains=False)


@pytest.mark.parametrize(
    ("name", "replicas", "options", "said"),
    [
        ("single", 2, {}, "cannot have 2 replicas"),
        ("independent", 0, {}, "'independent' needs at least 1 replica, not 0"),
        ("multi_worker_mirrored", 0, {}, "at least 1 replica, not 0"),
        ("multi_worker_mirrored", 2, {"communication": "mpi"}, "auto, ring, nccl, not 'mpi'"),
        ("ps_async", 0, {}, "at least 1 replica, not 0"),
        ("ps_async", 2, {"ps": 0}, "at least 1 parameter server: ps=0"),
        (
            *("ps_sync", 2, {"placement": "even"}),
            "'ps_sync': placement is round_robin, greedy, partitioned, packed, not 'even'",
        ),
        ("parameter_server", 2, {"ps": 0}, "at least 1 parameter server: ps=0"),
        ("parameter_server", 0, {}, "at least 1 replica, not 0"),
        ("tower", 0, {}, "at least 1 replica, not 0"),
        ("tower", 2, {"variables": "gpu"}, "variables is reported, cpu, device, not 'gpu'"),
        ("tower", 2, {"regularizer": "none"}, "regularizer is shared, per_tower, not 'none'"),
        ("tower", 2, {"variables": "device", "regularizer": "shared"}, "use regularizer='per_tower'"),
        ("mirrored", 0, {}, "at least 1 replica, not 0"),
        ("mirrored", 2, {"collective": "nccl"}, "collective is between, compiled, not 'nccl'"),
        *(
            (name, 2, {"compression": "fp8"}, "compression is none, float16, bfloat16, not 'fp8'")
            for name in ("mirrored", "multi_worker_mirrored")
        ),
        ("single", 1, {"steps_per_call": 0}, "'single': steps_per_call is 1 or more, not 0"),
        ("independent", 2, {"steps_per_call": -1}, "'independent': steps_per_call is 1 or more, not -1"),
        *(
            (name, 2, {"steps_per_call": 0}, f"{name!r}: steps_per_call is 1 or more, not 0")
            for name in ("mirrored", "multi_worker_mirrored")
        ),
    ],
)
def test_what_cannot_be_laid_out(name: str, replicas: int, options: dict[str, Scalar], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        get(name).layout(replicas, options)


def test_who_waits_for_whom_who_counts_and_who_is_measured() -> None:
    found = {
        name: (strategy.synchronous, strategy.updates_are_global, strategy.measured_job)
        for name in ALL
        for strategy in [get(name)]
    }
    assert found == {
        "single": (True, False, "worker"),
        "independent": (False, False, "worker"),
        "tower": (True, False, "worker"),
        "ps_async": (False, True, "worker"),
        "ps_sync": (True, False, "worker"),
        "mirrored": (True, False, "worker"),
        "multi_worker_mirrored": (True, False, "worker"),
        "parameter_server": (False, False, "chief"),
    }
