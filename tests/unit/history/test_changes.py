"""What is made of change points: which count, which are known, which are explained."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from math import exp, log

import pytest

from pytest_tfperf.history.acknowledgements import Acknowledgement
from pytest_tfperf.history.changes import ArmTrend, Change, open_changes, trends
from pytest_tfperf.history.reading import Stored, days_after, matches
from pytest_tfperf.history.series import ArmHistory, ArmKey, Night
from pytest_tfperf.history.words import arm_text
from pytest_tfperf.records.comparison import Metric

TODAY = "2026-11-01"


def arm(
    *,
    reference: Callable[[int], float] = lambda night: 100.0,
    own: Callable[[int], float] = lambda night: 360.0,
    nights: int = 40,
    replicas: int = 4,
    versions: Callable[[int], str] = lambda night: "2.20.0",
) -> ArmHistory:
    """An arm with little noise; `reference` and `own` give the level of T(1) and T(N) by the night."""
    key = ArmKey("t.py::t", replicas, "mlp", "mirrored", "", "cpu", "cpu-x", "e" * 16, "d" * 16)
    drawn = random.Random(replicas)
    made = []
    for number in range(nights):
        one, many = (level * exp(drawn.gauss(0, 0.002)) for level in (reference(number), own(number)))
        values: dict[Metric, float] = {"reference": one, "throughput": many, "efficiency": many / (replicas * one)}
        day = (date(2026, 9, 1) + timedelta(days=number)).isoformat()
        made.append(Night(day, f"{number:07x}", False, {"tensorflow": versions(number)}, "unchanged", values, 5))
    return ArmHistory(key, tuple(made), False)


def step(before: float, after: float, at: int = 20) -> Callable[[int], float]:
    return lambda night: before if night < at else after


def found(*arms: ArmHistory, known: Sequence[Acknowledgement] = (), today: str = TODAY) -> tuple[ArmTrend, ...]:
    return trends(Stored(arms, tuple(known)), today)


def states(trend: ArmTrend) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for change in trend.changes:
        told.setdefault(change.label, []).append(change.state)
    return told


def acknowledged(change: Change, *, until: str = "2026-11-30", log_change: float | None = None) -> Acknowledgement:
    return Acknowledgement(
        test=change.key.test,
        replicas=change.key.replicas,
        metric=change.metric,
        device=change.key.device,
        environment_digest=change.key.environment_digest,
        definition_digest=change.key.definition_digest,
        date=change.night.date,
        log_change=change.point.log_change if log_change is None else log_change,
        made="2026-10-15T00:00:00Z",
        until=until,
        by="ada",
        reason="known",
    )


def test_a_loss_of_t_n_counts_in_both_figures() -> None:
    (trend,) = found(arm(own=step(360, 342), versions=lambda night: "2.20.0" if night < 20 else "2.21.0"))
    assert states(trend) == {"T(4)": ["open"], "E(4)": ["open"]}
    assert len(open_changes([trend])) == 2
    change = trend.changes[0]
    assert change.night_before.commit == f"{19:07x}"
    assert change.night.commit == f"{20:07x}"
    assert change.versions == (("tensorflow", "2.20.0", "2.21.0"),)
    assert change.ratio == pytest.approx(0.95, abs=0.005)


def test_an_efficiency_that_fell_as_t1_rose_is_explained() -> None:
    (trend,) = found(arm(reference=step(100, 110)))
    assert states(trend) == {"T(1)": ["improved"], "E(4)": ["explained"]}
    assert open_changes([trend]) == ()


def test_it_is_no_excuse_where_t_n_got_slower_too() -> None:
    (trend,) = found(arm(reference=step(100, 110), own=step(360, 340)))
    assert states(trend) == {"T(1)": ["improved"], "T(4)": ["open"], "E(4)": ["open"]}


def test_what_was_made_good_again_does_not_count() -> None:
    (trend,) = found(arm(own=lambda night: 340.0 if 15 <= night < 25 else 360.0))
    assert states(trend) == {"T(4)": ["recovered", "improved"], "E(4)": ["recovered", "improved"]}
    (half,) = found(arm(own=lambda night: 360.0 if night < 15 else 320.0 if night < 25 else 340.0))
    assert states(half)["T(4)"] == ["open", "improved"]


def test_t1_is_told_once_for_all_arms_of_a_sweep() -> None:
    two, four = (arm(reference=step(100, 95), own=step(count * 90, count * 85.5), replicas=count) for count in (2, 4))
    told = found(two, four)
    assert [list(states(trend)) for trend in told] == [["T(1)", "T(2)"], ["T(4)"]]


def test_an_acknowledgement_holds_until_its_last_day() -> None:
    history = arm(own=step(360, 342))
    (trend,) = found(history)
    known = [acknowledged(change, until=TODAY) for change in trend.changes]
    assert states(found(history, known=known)[0]) == {"T(4)": ["acknowledged"], "E(4)": ["acknowledged"]}
    (expired,) = found(history, known=known, today=days_after(TODAY, 1))
    assert states(expired) == {"T(4)": ["open"], "E(4)": ["open"]}
    assert (
        "expired on 2026-11-01: known (ada, 2026-10-15)"
        in arm_text(expired, days_after(TODAY, 1)).metrics[1].changes[0].line
    )


def test_the_newest_acknowledgement_counts() -> None:
    history = arm(own=step(360, 342))
    change = found(history)[0].changes[0]
    known = [acknowledged(change, until="2026-10-01"), acknowledged(change, until="2026-12-01")]
    assert found(history, known=known)[0].changes[0].state == "acknowledged"


def test_one_that_is_about_something_else_does_not_hold() -> None:
    history = arm(own=step(360, 342))
    change = found(history)[0].changes[0]
    known = acknowledged(change)
    for field, value in (
        ("test", "t.py::u"),
        ("replicas", 2),
        ("metric", "efficiency"),
        ("device", "gpu"),
        ("environment_digest", "f" * 16),
        ("definition_digest", "f" * 16),
        ("date", "2026-09-10"),
        ("log_change", -change.point.log_change),
    ):
        other = Acknowledgement(**{**known.__dict__, field: value})
        assert found(history, known=[other])[0].changes[0].state == "open", field


def test_one_that_grew_counts_again() -> None:
    history = arm(own=step(360, 324))
    change = found(history)[0].changes[0]
    assert found(history, known=[acknowledged(change, log_change=log(0.95))])[0].changes[0].state == "open"
    assert found(history, known=[acknowledged(change, log_change=log(0.92))])[0].changes[0].state == "acknowledged"


def test_where_it_is_known_only_to_some_nights() -> None:
    history = arm(own=step(360, 342))
    change = found(history)[0].changes[0]
    moved = Acknowledgement(**{**acknowledged(change).__dict__, "date": days_after(change.night.date, 2)})
    assert found(history, known=[moved])[0].changes[0].state == "acknowledged"


def test_an_arm_that_is_t1_itself_has_one_figure() -> None:
    made = arm(own=step(100, 90), replicas=1)
    (trend,) = found(ArmHistory(made.key, made.nights, True))
    assert trend.metrics == ("reference",)


def test_one_replica_under_a_strategy_is_not_the_reference() -> None:
    key = arm(replicas=1).key
    assert [key.label(metric) for metric in ("reference", "throughput", "efficiency")] == [
        "T(1)",
        "T(1) mirrored",
        "E(1)",
    ]


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        ("test_a", True),
        ("test_a[4]", True),
        ("a.py::test_a[4]", True),
        ("*test_a[4]", True),
        ("*[4]", True),
        ("test_a[2]", False),
        ("*[2]", False),
        ("test_b", False),
    ],
)
def test_names_and_patterns(pattern: str, match: bool) -> None:
    assert matches("perf/a.py::test_a[4]", pattern) == match
