"""Rounds are added until every count is settled, lost, or out of time; what is not needed is not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.pacing import Pace
from pytest_tfperf.records.arm import Arm, Recipe, Sweep, SweepSpec
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.rounds import SweepMeasurer
from pytest_tfperf.workloads.base import WorkloadDefinition
from tests.unit.fakes import FakeClock, Lines

SPEC = SweepSpec(
    test="test_a.py::test_a",
    workload="mlp",
    recipe=Recipe("multi_worker_mirrored"),
    reference=Recipe("single"),
    versus=Recipe("ps_async"),
    replicas=(2, 4),
    device="cpu",
)
ONE = SPEC.reference_arm


class CannedRuns:
    """Runs of a length that is known, on a clock that they move; some arms cannot be measured."""

    def __init__(self, clock: FakeClock, seconds: float = 10.0, broken: Mapping[Arm, int] | None = None) -> None:
        self.clock, self.seconds = clock, seconds
        self.broken = broken or {}
        """Arms that fail, each with the round in which it does."""
        self.made: list[tuple[int, str]] = []

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        self.clock.sleep(self.seconds)
        self.made.append((number, arm.label))
        if self.broken.get(arm) == number:
            raise MeasurementError(f"{arm.label} is broken")
        return Run(arm, number, 100.0 + number, 1.0, ())

    def of_round(self, number: int) -> list[str]:
        return [label for made, label in self.made if made == number]


class OtherRevision:
    name = "main"

    def __init__(self) -> None:
        self.made: list[tuple[int, str]] = []

    def measures(self, arm: Arm) -> bool:
        return arm.role != "versus"

    def run(self, spec: SweepSpec, arm: Arm, number: int) -> Run:
        self.made.append((number, arm.label))
        return Run(arm, number, 100.0, 1.0, ())


class Settling:
    """Settles each count at the first look of a round at least as late as is said for it; at the last one all."""

    def __init__(self, at: Mapping[int, int]) -> None:
        self.at = at
        self.looks: list[Look] = []
        self.runs_seen: list[int] = []

    def __call__(self, result: SweepResult, look: Look) -> dict[int, str]:
        self.looks.append(look)
        self.runs_seen.append(len(result.results[ONE].runs))
        return {count: "unchanged" for count, first in self.at.items() if look.round >= first or look.last}


def measure(
    settled: Settling, pace: Pace, runs: CannedRuns, *, spec: SweepSpec = SPEC, other: OtherRevision | None = None
) -> tuple[SweepResult, Lines]:
    lines = Lines()
    measurer = SweepMeasurer(runs, lines, (0, 1), runs.clock)
    workload = WorkloadDefinition("mlp", lambda: None, {})
    result = measurer.measure(Sweep(spec, spec.replicas), workload, Environment({}, {}), [], pace, settled, other)
    return result, lines


@pytest.fixture
def runs() -> CannedRuns:
    return CannedRuns(FakeClock())


def test_it_stops_when_everything_is_settled(runs: CannedRuns) -> None:
    settled = Settling({2: 3, 4: 3})
    result, lines = measure(settled, Pace(5), runs)
    assert [(look.round, look.last) for look in settled.looks] == [(2, False), (3, False)]
    assert settled.runs_seen == [2, 3]
    assert result.rounds == 3
    assert result.seconds == 150.0
    assert lines.lines[0] == "test_a.py::test_a: 5 arms, at most 5 rounds"
    assert lines.lines[-1] == "  decided after 3 of 5 rounds: T(2) unchanged, T(4) unchanged"


def test_what_is_given_up_is_not_called_decided(runs: CannedRuns) -> None:
    class GivingUp(Settling):
        def __call__(self, result: SweepResult, look: Look) -> dict[int, str]:
            return dict.fromkeys(super().__call__(result, look), "inconclusive")

    _, lines = measure(GivingUp({2: 3, 4: 3}), Pace(5), runs)
    told = "  as the rest would hardly decide, given up after 3 of 5 rounds: T(2) inconclusive, T(4) inconclusive"
    assert lines.lines[-1] == told


def test_what_was_given_up_for_a_disturbance_says_so(runs: CannedRuns) -> None:
    class Disturbed(Settling):
        def __call__(self, result: SweepResult, look: Look) -> dict[int, str]:
            return dict.fromkeys(super().__call__(result, look), "inconclusive")

    class Noisy(CannedRuns):
        def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
            return replace(super().run(spec, arm, workload, number, gpus), disturbances=("another program",))

    _, lines = measure(Disturbed({2: 3, 4: 3}), Pace(5), Noisy(runs.clock))
    told = "  as runs that count were disturbed, given up after 3 of 5 rounds: T(2) inconclusive, T(4) inconclusive"
    assert lines.lines[-1] == told


def test_what_there_is_of_a_sweep_that_is_interrupted_is_given() -> None:
    class Interrupted(CannedRuns):
        def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
            if len(self.made) == 5 + after:
                raise KeyboardInterrupt
            return super().run(spec, arm, workload, number, gpus)

    def given(runs: CannedRuns) -> list[SweepResult]:
        found: list[SweepResult] = []
        measurer = SweepMeasurer(runs, Lines(), (0, 1), runs.clock)
        workload = WorkloadDefinition("mlp", lambda: None, {})
        sweep, settled = Sweep(SPEC, SPEC.replicas), Settling({2: 3, 4: 3})
        with pytest.raises(KeyboardInterrupt):
            measurer.measure(sweep, workload, Environment({}, {}), [], Pace(5), settled, unfinished=found.append)
        return found

    after = 2  # in the second round, in which arms are measured backwards
    (result,) = given(Interrupted(FakeClock()))
    assert (result.rounds, result.seconds) == (1, 70.0)
    assert [len(each.runs) for each in result.results.values()] == [1, 1, 1, 2, 2]
    after = -5  # before anything was measured
    assert given(Interrupted(FakeClock())) == []


def test_what_is_settled_is_measured_no_further_but_the_reference_goes_on(runs: CannedRuns) -> None:
    result, lines = measure(Settling({2: 2, 4: 4}), Pace(5), runs)
    assert runs.of_round(2) == ["T(4) ps_async", "T(4)", "T(2) ps_async", "T(2)", "T(1)"]
    assert runs.of_round(3) == ["T(1)", "T(4)", "T(4) ps_async"]
    assert runs.of_round(5) == []
    assert len(result.results[ONE].runs) == 4
    assert len(result.paired(2).throughput) == 2
    assert len(result.paired(4).versus) == 4
    assert "  decided after 2 of 5 rounds: T(2) unchanged; the others go on" in lines.lines


def test_all_planned_rounds_are_measured_where_nothing_settles(runs: CannedRuns) -> None:
    settled = Settling({2: 9, 4: 9})
    result, lines = measure(settled, Pace(8), runs)
    assert [look.round for look in settled.looks] == [2, 3, 4, 5, 7, 8]
    assert settled.looks[-1] == Look(8, 8)
    assert result.rounds == 8
    assert "decided" not in "".join(lines.lines)


def test_one_look_at_the_end_where_all_rounds_are_wanted(runs: CannedRuns) -> None:
    settled = Settling({2: 1, 4: 1})
    result, lines = measure(settled, Pace(4, stops_early=False), runs)
    assert settled.looks == [Look(4, 4, alone=True)]
    assert result.rounds == 4
    assert lines.lines[0] == "test_a.py::test_a: 5 arms, 4 rounds"


def test_a_planned_single_round_is_looked_at_once(runs: CannedRuns) -> None:
    settled = Settling({2: 1, 4: 1})
    result, _ = measure(settled, Pace(1), runs)
    assert settled.looks == [Look(1, 1)]
    assert result.rounds == 1


def test_no_round_is_begun_that_would_end_too_late(runs: CannedRuns) -> None:
    settled = Settling({2: 9, 4: 9})
    result, lines = measure(settled, Pace(9, seconds=190.0), runs)  # five arms of 10 s: 50 s a round
    assert result.rounds == 3
    assert settled.looks[-1] == Look(3, 9, final=True)
    assert lines.lines[-1] == "  no time for more than 3 of 9 rounds"


def test_rounds_get_shorter_as_arms_are_settled(runs: CannedRuns) -> None:
    result, _ = measure(Settling({2: 2, 4: 9}), Pace(9, seconds=190.0), runs)  # 2 x 50 s, then 30 s a round
    assert result.rounds == 5


def test_two_rounds_are_measured_however_little_time_there_is(runs: CannedRuns) -> None:
    settled = Settling({2: 9, 4: 9})
    result, _ = measure(settled, Pace(5, seconds=0.0), runs)
    assert result.rounds == 2
    assert settled.looks == [Look(2, 5, final=True)]


def test_time_may_run_out_after_a_round_that_would_have_no_look(runs: CannedRuns) -> None:
    settled = Settling({2: 99, 4: 99})
    result, _ = measure(settled, Pace(20, seconds=310.0), runs)
    assert result.rounds == 6
    assert settled.looks[-1] == Look(6, 20, final=True)


def test_an_arm_that_fails_loses_its_count_and_what_only_that_needs() -> None:
    runs = CannedRuns(FakeClock(), broken={SPEC.arm(2): 1})
    result, lines = measure(Settling({2: 9, 4: 3}), Pace(5), runs)
    assert runs.of_round(1) == ["T(1)", "T(2)", "T(4)", "T(4) ps_async"]
    assert result.rounds == 3
    assert str(result.error_of(2)) == "T(2) is broken"
    assert result.error_of(4) is None
    assert "T(2) failed" in lines.lines[1]


def test_a_failed_reference_ends_the_sweep_at_once() -> None:
    runs = CannedRuns(FakeClock(), broken={ONE: 2})
    settled = Settling({2: 9, 4: 9})
    result, _ = measure(settled, Pace(5), runs)
    assert runs.of_round(2)[-1] == "T(1)"
    assert runs.of_round(3) == []
    assert settled.looks == []
    assert result.rounds == 2


def test_the_other_revision_follows_the_same_rounds(runs: CannedRuns) -> None:
    other = OtherRevision()
    result, _ = measure(Settling({2: 2, 4: 3}), Pace(5), runs, other=other)
    assert [label for number, label in other.made if number == 2] == ["T(4)", "T(2)", "T(1)"]
    assert [label for number, label in other.made if number == 3] == ["T(1)", "T(4)"]
    there = result.paired_against(4)
    assert there is not None
    assert len(there.throughput) == len(result.paired(4).throughput) == 3


def test_a_count_that_is_its_own_reference_is_settled_while_t1_goes_on(runs: CannedRuns) -> None:
    spec = replace(SPEC, recipe=Recipe("single"), versus=None, replicas=(1, 2))
    result, _ = measure(Settling({1: 2, 2: 4}), Pace(5), runs, spec=spec)
    assert runs.of_round(3) == ["T(1)", "T(2)"]
    assert result.rounds == 4
