"""Who is named as slow, and who is not."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tfperf.diagnosis.straggler import own_pace_lines, stragglers
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import Run, TaskRun, Window
from pytest_tfperf.records.task import TaskId


def run(number: int, paces: Sequence[float | None], notes: dict[str, str] | None = None) -> Run:
    tasks = tuple(
        TaskRun(
            task=TaskId("worker", index),
            examples_per_step=1,
            replicas=1,
            warmup=(),
            steady=True,
            windows=(Window(0, 1, 1),),
            steps=1,
            updates=1,
            updates_are_global=False,
            losses=(),
            synchronous=True,
            own_step_time=pace,
        )
        for index, pace in enumerate(paces)
    )
    arm = Arm("mlp", "multi_worker_mirrored", len(paces), "gpu")
    return Run(arm, number, 1.0, 1.0, tasks, gpu_notes=notes or {})


def rounds(*paces: Sequence[float | None], notes: dict[str, str] | None = None) -> list[Run]:
    return [run(number, each, notes) for number, each in enumerate(paces, start=1)]


PACES = ((0.050, 0.051, 0.061), (0.050, 0.049, 0.062), (0.051, 0.050, 0.061))
SLOW = rounds(*PACES)


def test_a_rank_that_is_slow_in_every_round_is_named() -> None:
    assert stragglers(SLOW) == (
        "Straggler: worker:2 needs 61.0 ms for its own part of a step, the others 50.5 ms (3 of 3 rounds).",
    )
    assert own_pace_lines(SLOW) == (
        "own step time by rank: worker:0 50.0 ms, worker:1 50.0 ms, worker:2 61.0 ms; skew 1.20",
    )


def test_what_its_gpu_says_is_told_with_it() -> None:
    notes = {"worker:2": "its clock was 1 395 MHz, the others' 1 755 MHz", "worker:0": "of no interest"}
    (text,) = stragglers(rounds(*PACES, notes=notes))
    assert text.endswith("(3 of 3 rounds); its clock was 1 395 MHz, the others' 1 755 MHz.")


def test_two_ranks_are_held_against_each_other() -> None:
    (text,) = stragglers(rounds((0.05, 0.10), (0.05, 0.11), (0.05, 0.10)))
    assert "worker:1" in text


def test_two_rounds_of_two_ranks_do_not_tell_but_of_eight_they_do() -> None:
    assert stragglers(rounds((0.05, 0.10), (0.05, 0.11))) == ()
    others = [0.050, 0.051, 0.049, 0.050, 0.051, 0.049, 0.050]
    (text,) = stragglers(rounds([*others, 0.060], [*others[::-1], 0.061]))
    assert "worker:7" in text


def test_a_busy_machine_makes_no_straggler_of_an_even_rank() -> None:
    # Measured on two ranks of two busy cores.
    assert stragglers(rounds((0.0153, 0.0210), (0.0152, 0.0196), (0.0160, 0.0155))) == ()


def test_an_even_cluster_has_none_and_still_shows_its_paces() -> None:
    even = rounds((0.050, 0.051), (0.051, 0.050), (0.050, 0.0505))
    assert stragglers(even) == ()
    assert own_pace_lines(even) == ("own step time by rank: worker:0 50.0 ms, worker:1 50.5 ms; skew 1.01",)


def test_a_rank_that_is_slow_in_the_lesser_part_of_the_rounds_is_not() -> None:
    assert stragglers(rounds((0.05, 0.08), (0.05, 0.05), (0.05, 0.05), (0.05, 0.08))) == ()


def test_less_than_a_tenth_is_not() -> None:
    assert stragglers(rounds(*[(0.050, 0.050, 0.054)] * 5)) == ()


def test_a_difference_within_the_noise_is_not() -> None:
    assert stragglers(rounds((0.05, 0.06), (0.05, 0.20), (0.05, 0.02))) == ()


def test_one_round_does_not_tell() -> None:
    assert stragglers(rounds((0.05, 0.10))) == ()
    assert own_pace_lines(rounds((0.05, 0.10))) != ()


def test_no_line_without_paces_or_with_one_rank() -> None:
    for runs in (rounds((None, None)), rounds((0.05, None)), rounds((0.05,)), []):
        assert own_pace_lines(runs) == ()
        assert stragglers(runs) == ()


def test_many_ranks_are_shown_by_the_slowest() -> None:
    (line,) = own_pace_lines(rounds([0.050] * 15 + [0.060]))
    assert line == (
        "own step time by rank: median 50.0 ms, slowest worker:15 60.0 ms, worker:0 50.0 ms, worker:1 50.0 ms; "
        "skew 1.20"
    )
