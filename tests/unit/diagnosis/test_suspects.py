from __future__ import annotations

import pytest

from pytest_tfperf.diagnosis.suspects import Holds, doubted, suspects_sentence, try_counting, try_suspect
from pytest_tfperf.records.estimate import Estimate


def gain(value: float, low: float, high: float, n: int = 5) -> Estimate:
    return Estimate(value, low, high, 0.95, n)


@pytest.mark.parametrize(
    ("speedup", "holds", "text"),
    [
        (gain(2.0, 1.8, 2.2), Holds.YES, "yes, 2.00 times [1.80, 2.20] as fast without it, so it costs 50 % of the "),
        (gain(1.02, 0.97, 1.07), Holds.NO, "no, 1.02 times [0.970, 1.07] as fast without it."),
        # Faster for sure, but not by enough to be what people complain of.
        (gain(1.05, 1.03, 1.07), Holds.NO, "no, 1.05 times [1.03, 1.07] as fast without it."),
        (gain(1.5, 1.05, 2.1), Holds.UNDECIDED, "not decided, 1.50 times [1.05, 2.10] as fast without it; more rounds"),
        (gain(9.0, 0.0, float("inf"), 1), Holds.UNDECIDED, "not decided, 9.00 times (one round) as fast without it"),
    ],
)
def test_a_suspect_is_a_cause_only_where_training_without_it_is_surely_faster(
    speedup: Estimate, holds: Holds, text: str
) -> None:
    verdict = try_suspect("small variables", speedup)
    assert verdict.holds is holds
    assert verdict.line.startswith(f"small variables: {text}")


@pytest.mark.parametrize(
    ("efficiency", "holds", "text"),
    [
        (gain(0.9, 0.85, 0.95), Holds.YES, "yes, the whole job makes 1.80 times [1.70, 1.90] the steps of one replica"),
        (gain(0.4, 0.35, 0.45), Holds.NO, "no, the whole job makes 0.800 times [0.700, 0.900] the steps of one"),
        (gain(0.6, 0.4, 0.8), Holds.UNDECIDED, "not decided, the whole job makes 1.20 times [0.800, 1.60] the steps"),
    ],
)
def test_counting_explains_it_only_where_the_job_is_faster_than_one_replica(
    efficiency: Estimate, holds: Holds, text: str
) -> None:
    verdict = try_counting("one worker's steps", efficiency, workers=2)
    assert verdict.holds is holds
    assert verdict.line.startswith(f"one worker's steps: {text}")


def test_a_worker_that_looks_slower_than_one_replica_is_named_beside_the_job() -> None:
    line = try_counting("counting", gain(0.9, 0.85, 0.95), workers=2).line
    assert line.endswith("while a worker's own steps show 0.900 times.")


def test_disturbed_runs_clear_no_suspect_and_convict_none() -> None:
    tried = doubted(try_suspect("variables", gain(2.0, 1.8, 2.2)))
    assert tried.holds is Holds.UNDECIDED
    assert tried.line == "variables: not decided, 2.00 times [1.80, 2.20], as runs that count were disturbed."
    assert suspects_sentence([tried]) == "not decided: variables."


def test_the_sentence_has_causes_first_and_the_largest_of_them_first() -> None:
    verdicts = [
        try_suspect("input", gain(1.0, 0.98, 1.02)),
        try_suspect("bytes", gain(1.3, 1.2, 1.4)),
        try_suspect("line", gain(1.2, 0.9, 1.6)),
        try_suspect("variables", gain(2.0, 1.8, 2.2)),
    ]
    said = "yes: variables (2.00 times), bytes (1.30 times); no: input; not decided: line."
    assert suspects_sentence(verdicts) == said
    assert suspects_sentence([]) == ""
