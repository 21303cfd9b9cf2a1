"""Waits that end, and waits that never can."""

from __future__ import annotations

from pytest_tfperf.cluster.rendezvous import Rendezvous
from pytest_tfperf.records.task import TaskId

A, B, C = (TaskId("worker", index) for index in range(3))
PS = TaskId("ps", 0)


def test_an_exchange_ends_with_the_last_arrival() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B])
    for start in (1, 10):  # the same name again is another exchange
        assert meeting.arrive(A, "x", [A, B], start) is None
        assert meeting.waits() == {A: "waiting in the exchange 'x' for worker:1"}
        assert meeting.stuck() is None
        assert meeting.arrive(B, "x", [B, A], start + 1) == {A: start, B: start + 1}
        assert meeting.waits() == {}


def test_exchanges_among_others_do_not_mix() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B, C])
    assert meeting.arrive(A, "x", [A, B, C], 1) is None
    assert meeting.arrive(B, "x", [B, C], 2) is None
    assert meeting.arrive(C, "x", [B, C], 3) == {B: 2, C: 3}


def test_release_comes_when_all_others_have_finished() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B, PS])
    meeting.await_release(PS)
    meeting.finish(A)
    assert meeting.take_released() == set()
    meeting.finish(B)
    assert meeting.take_released() == {PS}
    assert meeting.take_released() == set()
    meeting.await_release(PS)
    assert meeting.take_released() == {PS}, "once released, nobody waits again"


def test_all_waiting_for_release_are_released() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B])
    meeting.await_release(A)
    assert meeting.take_released() == set()
    meeting.await_release(B)
    assert meeting.take_released() == {A, B}


def test_waiting_for_a_finished_task_is_stuck() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B])
    meeting.arrive(A, "x", [A, B], 1)
    meeting.finish(B)
    assert meeting.stuck() == (A, "waits in the exchange 'x' for worker:1, which runs no function (any more)")


def test_waiting_for_one_that_waits_for_release_is_stuck() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B])
    meeting.arrive(A, "x", [A, B], 1)
    meeting.await_release(B)
    assert meeting.stuck() == (A, "waits in the exchange 'x' for worker:1, which waits for release")


def test_waiting_for_each_other_in_different_exchanges_is_stuck_once_all_do() -> None:
    meeting: Rendezvous[int] = Rendezvous([A, B, C])
    meeting.arrive(A, "x", [A, B], 1)
    meeting.arrive(B, "y", [B, C], 1)
    assert meeting.stuck() is None, "C may still come"
    meeting.arrive(C, "z", [A, C], 1)
    stuck = meeting.stuck()
    assert stuck is not None
    assert "waiting in another exchange" in stuck[1]
