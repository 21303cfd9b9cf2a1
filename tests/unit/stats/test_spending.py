"""The allowed error over the looks: never more than all of it, whenever a session ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.spending import Shares, look_rounds, shares

rounds = st.integers(1, 400)


def total(looks: list[Look]) -> Shares:
    each = [shares(look) for look in looks]
    return Shares(sum(share.alarm for share in each), sum(share.miss for share in each))


def test_looks_of_the_default_and_of_many_rounds() -> None:
    assert look_rounds(5) == (2, 3, 4, 5)
    assert look_rounds(20) == (2, 3, 4, 5, 7, 10, 14, 20)
    assert look_rounds(2) == (2,)
    assert look_rounds(1) == (1,)


@given(rounds)
def test_looks_grow_and_end_with_the_last_round(planned: int) -> None:
    looks = look_rounds(planned)
    assert looks[-1] == planned
    assert list(looks) == sorted(set(looks))


@given(rounds)
def test_shares_of_all_planned_looks_add_up_to_one(planned: int) -> None:
    looks = [Look(number, planned) for number in look_rounds(planned)]
    assert total(looks).alarm == pytest.approx(1)
    assert total(looks).miss == pytest.approx(1)
    assert all(shares(look).alarm >= 0 and shares(look).miss > 0 for look in looks)


@given(rounds, st.data())
def test_they_do_too_where_a_session_ends_early_after_any_round(planned: int, data: st.DataObject) -> None:
    end = data.draw(st.integers(1, planned))
    looks = [Look(number, planned) for number in look_rounds(planned) if number < end]
    looks.append(Look(end, planned, final=True))
    assert total(looks).alarm == pytest.approx(1)
    assert total(looks).miss == pytest.approx(1)


@given(rounds)
def test_a_look_that_turns_out_to_be_the_last_has_at_least_what_it_had(planned: int) -> None:
    """The same runs are judged again then: all that alarmed before still does."""
    for number in look_rounds(planned):
        early, final = shares(Look(number, planned)), shares(Look(number, planned, final=True))
        assert final.alarm >= early.alarm - 1e-12
        assert final.miss >= early.miss - 1e-12


def test_two_rounds_raise_no_alarm_while_more_are_planned() -> None:
    assert shares(Look(2, 5)).alarm == 0
    assert shares(Look(2, 5)).miss == 0.25
    assert shares(Look(2, 2)) == Shares(1, 1)


def test_later_looks_have_more_of_the_alarms() -> None:
    alarms = [shares(Look(number, 5)).alarm for number in (2, 3, 4, 5)]
    assert alarms == pytest.approx([0, 27 / 125, 37 / 125, 61 / 125])


@given(rounds, st.data())
def test_the_only_look_has_all_there_is(planned: int, data: st.DataObject) -> None:
    assert shares(Look(data.draw(st.integers(1, planned)), planned, alone=True)) == Shares(1, 1)


def test_a_look_that_is_not_planned_is_refused() -> None:
    with pytest.raises(ValueError, match="no look is planned after round 6 of 10"):
        shares(Look(6, 10))


@pytest.mark.parametrize(("number", "planned"), [(0, 5), (-1, 5), (6, 5), (1, 0)])
def test_a_round_that_cannot_be_is_refused(number: int, planned: int) -> None:
    with pytest.raises(ValueError, match=f"round {number} of {planned}"):
        shares(Look(number, planned, final=True))
