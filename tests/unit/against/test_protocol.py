"""What crosses the line comes out as it went in, and anything else is said to be wrong."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.against import protocol
from pytest_tfperf.against.protocol import (
    PROTOCOL,
    Line,
    Measurement,
    Offer,
    ProtocolError,
    TestOffer,
    as_message,
    read_measurement,
    read_offer,
)
from pytest_tfperf.against.serve import Collected, Server
from pytest_tfperf.errors import ClusterError
from pytest_tfperf.records.arm import Arm, Recipe, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.workloads.base import WorkloadDefinition

OFFER = Offer(
    PROTOCOL,
    plugin="/a/pytest_tfperf",
    tests={"t.py::test_a": TestOffer({"workload.batch_size": 8, "strategy.x": None, "y": 0.5}, (1, 2), "cpu", 600.0)},
    skipped=("t.py::test_b",),
    problems={"u.py": "ImportError"},
    foreign=("lib (/b/lib.py)",),
    soft={"cpu": {"tensorflow": "2.21.0"}},
    logs="/tmp/logs",
)
MEASUREMENT = Measurement(
    100.0, 0.08, ("odd",), ("busy",), (("hot", "busy"),), ("variables: 1",), {"tensorflow": "2"}, True
)


def through_json(message: dict[str, Any]) -> dict[str, Any]:
    result = json.loads(json.dumps(message))
    assert isinstance(result, dict)
    return result


def test_records_survive_the_line() -> None:
    assert read_offer(through_json(as_message(OFFER))) == OFFER
    assert read_measurement(through_json(as_message(MEASUREMENT))) == MEASUREMENT


def test_an_earlier_version_does_not_say_whether_it_was_disturbed_from_outside() -> None:
    message = through_json(as_message(MEASUREMENT))
    del message["outside"]
    assert read_measurement(message).outside is False


def test_keys_of_a_later_version_are_ignored() -> None:
    assert read_offer({**through_json(as_message(OFFER)), "weather": "fine"}) == OFFER


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": PROTOCOL + 1}, f"speaks version {PROTOCOL + 1} of the protocol, this side {PROTOCOL}"),
        ({"tests": None}, "its answer to hello cannot be read"),
        ({"tests": {"t": {}}}, "its answer to hello cannot be read .*definition"),
        ({"tests": {"t": {"definition": {}, "replicas": [float("inf")]}}}, "its answer to hello cannot be read"),
    ],
)
def test_an_offer_that_is_none(change: dict[str, object], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        read_offer({**through_json(as_message(OFFER)), **change})


@pytest.mark.parametrize("throughput", [0.0, -1.0, float("nan"), float("inf"), "fast", None])
def test_a_measurement_that_is_none(throughput: object) -> None:
    with pytest.raises(ProtocolError):
        read_measurement({**as_message(MEASUREMENT), "throughput": throughput})


@pytest.fixture
def line() -> Iterator[tuple[Line, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        one = Line(ours)
        yield one, theirs
        one.close()


def test_a_message_in_pieces_and_two_at_once(line: tuple[Line, socket.socket]) -> None:
    ours, theirs = line
    theirs.sendall(b'{"a"')
    with pytest.raises(TimeoutError):
        ours.receive(0.01)
    theirs.sendall(b': 1}\n{"b": 2}\n')
    assert ours.receive(10) == {"a": 1}
    assert ours.receive(10) == {"b": 2}


@pytest.mark.parametrize("text", [b"hello\n", b"[1]\n", b"\xff\n", b"[" * 60_000 + b"\n"])
def test_what_is_no_message(line: tuple[Line, socket.socket], text: bytes) -> None:
    line[1].sendall(text)
    with pytest.raises(ProtocolError, match="not "):
        line[0].receive(10)


def test_a_line_without_end(line: tuple[Line, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LONGEST", 1000)
    line[1].sendall(b"x" * 2000)
    with pytest.raises(EOFError, match="more than 1000 bytes that are no message"):
        line[0].receive(10)


def test_the_other_end_is_gone(line: tuple[Line, socket.socket]) -> None:
    line[1].close()
    with pytest.raises(EOFError):
        line[0].receive(10)
    with pytest.raises(EOFError):
        line[0].send({})


SPEC = SweepSpec(
    test="t.py::test_a",
    workload="ours",
    recipe=Recipe("multi_worker_mirrored", {}, {"batch_size": 8}),
    reference=Recipe("single", {}, {"batch_size": 8}),
    replicas=(2,),
    device="cpu",
)
WORKLOAD = WorkloadDefinition("ours", lambda: None, {"batch_size": 8})


@pytest.fixture
def ask() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Ask a server whose measurements are canned."""
    ready: list[bool] = []
    cores: list[Sequence[int]] = [(0, 1, 2, 3)]

    def measure(spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int) -> Run:
        assert (spec, workload, ready) == (SPEC, WORKLOAD, [True])
        if number == 9:
            raise ClusterError("worker:1 died")
        return Run(arm, number, 100.0 * arm.replicas, 0.08, _task_runs(), warnings=("odd", f"on {cores[-1]}"))

    def is_ready() -> tuple[dict[str, dict[str, str]], str]:
        ready.append(True)
        return {"cpu": {"python": "3"}}, ""

    other = SweepSpec("t.py::test_b", "ours", SPEC.recipe, SPEC.reference, (1,), "cpu")
    arms = [(SPEC, WORKLOAD, False), (other, WORKLOAD, True)]
    collected = Collected.of(arms, {"u.py": "broken"})
    server = Server(collected, is_ready, measure, cores=cores[0], pin_to=cores.append, timeout=30.0)
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=server.serve, args=(Line(theirs),))
    thread.start()
    line = Line(ours)

    def one(request: dict[str, Any]) -> dict[str, Any]:
        line.send(request)
        return line.receive(10)

    yield one
    line.close()
    thread.join(10)
    assert not thread.is_alive()
    theirs.close()


def _task_runs() -> tuple[Any, ...]:
    from pytest_tfperf.records.run import TaskRun, Window
    from pytest_tfperf.records.task import TaskId

    window = (Window(0.0, 1.0, 1),)
    facts = {"variables": "1"}
    return (
        TaskRun(
            TaskId("worker", 0), 8, 1, (), True, window, 1, 1, False, (0.0,), True, {"tensorflow": "2"}, {}, 1, facts
        ),
    )


def hello(tmp_path: Path) -> dict[str, Any]:
    return {"do": "hello", "protocol": PROTOCOL, "checkout": str(tmp_path), "worktree": str(tmp_path)}


def test_a_server_offers_what_was_collected(ask: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    offer = read_offer(ask(hello(tmp_path)))
    (test,) = offer.tests.values()
    assert test.definition["workload"] == "ours"
    assert test.definition["workload.batch_size"] == 8
    assert test.definition["cores_per_rank"] == 2
    assert (test.replicas, test.timeout, test.device) == ((2,), 30.0, "cpu")
    assert offer.skipped == ("t.py::test_b",)
    assert offer.problems == {"u.py": "broken"}
    assert Path(offer.plugin).name == "pytest_tfperf"
    assert offer.soft == {"cpu": {"python": "3"}}


def test_a_server_measures_what_it_is_asked_for(ask: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    ask(hello(tmp_path))
    request = {"do": "measure", "test": SPEC.test, "round": 1}
    assert read_measurement(ask({**request, "arm": "reference"})).throughput == 100.0
    seen = read_measurement(ask({**request, "arm": 2}))
    assert (seen.throughput, seen.warnings, seen.facts, seen.versions) == (
        200.0,
        ("odd", "on (0, 1, 2, 3)"),
        ("variables: 1",),
        {"tensorflow": "2"},
    )
    assert ask({**request, "arm": 4}) == {"error": "t.py::test_a does not measure 4 replicas"}
    assert ask({**request, "arm": 2, "test": "t.py::test_c"}) == {"error": "there is no test t.py::test_c to measure"}
    assert ask({**request, "arm": 2, "round": 9}) == {"error": "worker:1 died"}
    assert "cannot be read" in ask({"do": "measure"})["error"]
    assert "does not know the request 'dance'" in ask({"do": "dance"})["error"]
    assert ask({"do": "stop"}) == {}


@pytest.mark.parametrize(("given", "used"), [([4, 5, 6, 7], (4, 5, 6, 7)), ([4, 5], (0, 1, 2, 3)), ([], (0, 1, 2, 3))])
def test_a_server_measures_on_the_cores_of_the_asking_side(
    ask: Callable[..., dict[str, Any]], tmp_path: Path, given: list[int], used: tuple[int, ...]
) -> None:
    """Where it can pin to as many; an older version of the asking side names none."""
    ask({**hello(tmp_path), "cores": given})
    seen = read_measurement(ask({"do": "measure", "test": SPEC.test, "round": 1, "arm": 2}))
    assert seen.warnings == ("odd", f"on {used}")
