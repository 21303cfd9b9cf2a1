"""What the project's own perf tests would do on eight GPUs: which run, what each task is given, how long they take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_tfperf import items, session
from pytest_tfperf.fixtures import ARM
from pytest_tfperf.measurement.gpus import Gpu
from pytest_tfperf.plan import place, plan_sweeps

PERF_TESTS = Path(__file__).parents[2] / "perf_tests"
CORES = range(128)


class Planned:
    """Everything up to the first run, and no run: the GPUs are not there."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        return True

    @property
    def skipped(self) -> dict[str, str]:
        """Reasons, by test."""
        markers = ((item.nodeid, item.get_closest_marker("skip")) for item in self.items)
        return {name: marker.kwargs["reason"] for name, marker in markers if marker}


def on_machine(
    count: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, marks: str = "gpu", *options: str
) -> tuple[Planned, list[str], str]:
    gpus = tuple(Gpu(f"GPU-{number}", "NVIDIA H100 80GB HBM3", f"GPU-{number}") for number in range(count))
    for module in (items, session):
        monkeypatch.setattr(module, "visible_gpus", lambda: gpus)
    planned = Planned()
    result = pytester.runpytest_inprocess(
        str(PERF_TESTS), "-m", marks, "-p", "no:cacheprovider", "--rootdir", str(PERF_TESTS.parent), *options,
        plugins=[planned],
    )  # fmt: skip
    return planned, [gpu.identifier for gpu in gpus], result.stdout.str()


def test_every_count_up_to_eight_is_planned_with_a_gpu_of_its_own_for_each_replica(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, gpus, output = on_machine(8, pytester, monkeypatch)
    sweeps = plan_sweeps(
        item.stash[ARM][:2] for item in planned.items if ARM in item.stash and item.nodeid not in planned.skipped
    )
    assert any(8 in sweep.replicas for sweep in sweeps.values())
    arms = 0
    for sweep in sweeps.values():
        for arm in sweep.arms:
            given = [gpu for task in place(sweep.spec, arm, gpus, CORES) for gpu in task.gpus]
            assert len(given) == len(set(given)) == arm.replicas, (sweep.spec.test, arm.label)
            assert set(given) <= set(gpus)
            arms += 1
    assert arms > 2 * len(sweeps)
    # Only what needs more than this machine has, or a right of it, is left out.
    assert all(re.match(r"needs (9|1\d) GPUs, this machine has 8|.*link", why) for why in planned.skipped.values())
    told = re.search(r"^tfperf: (\d+) sweeps, about (\d+) (?:min|h)", output, flags=re.MULTILINE)
    assert told is not None
    assert int(told[1]) == len(sweeps)


def test_four_gpus_leave_out_what_needs_eight_and_say_so(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, _, _ = on_machine(4, pytester, monkeypatch)
    eight = {item.nodeid for item in planned.items if ARM in item.stash and item.stash[ARM][1] == 8}
    assert eight
    assert {planned.skipped[name] for name in eight} == {"needs 8 GPUs, this machine has 4"}
    assert not any(
        "this machine has" in planned.skipped.get(item.nodeid, "")
        for item in planned.items
        if ARM in item.stash and item.stash[ARM][1] <= 4
    )


def test_the_nightly_gate_has_the_largest_count_alone_of_a_test_a_model(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, _, output = on_machine(4, pytester, monkeypatch, "gpu and gate", "--tfperf-largest")
    selected = [item.stash[ARM][:2] for item in planned.items]
    assert [replicas for _, replicas in selected] == [4, 4, 4, 4]
    assert {spec.workload for spec, _ in selected} == {"alexnet", "gpt2", "mlp", "resnet50"}
    assert not planned.skipped
    arms = sum(len(set(sweep.arms)) for sweep in plan_sweeps(selected).values())
    assert arms == 10  # of 119 that four GPUs can run
    assert "4 sweeps, about" in output


def test_of_a_test_that_cannot_run_at_all_every_count_is_skipped_with_its_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, _, _ = on_machine(0, pytester, monkeypatch, "gpu and gate", "--tfperf-largest")
    assert len(planned.skipped) == len(planned.items) == 13
