"""Wire, logs, results, and what is packed by value."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from pytest_tfperf.cluster import Results, serialize, wire
from pytest_tfperf.cluster.logs import tail
from pytest_tfperf.cluster.nurseries import import_time_variables
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import TaskId


def test_messages_and_descriptors_cross_the_wire(tmp_path: Path) -> None:
    one, other = socket.socketpair()
    with one, other, (tmp_path / "file").open("w") as file:
        wire.send(one, {"a": 1}, [file.fileno()])
        wire.send(one, "second")
        message, fds = wire.receive(other)
        assert message == {"a": 1}
        os.write(fds[0], b"through another descriptor")
        os.close(fds[0])
        assert wire.receive(other) == ("second", [])
        one.close()
        with pytest.raises(EOFError):
            wire.receive(other)
    assert (tmp_path / "file").read_text() == "through another descriptor"


def test_inbox_takes_any_pieces() -> None:
    data = wire.encode("one") + wire.encode([2] * 100)
    inbox = wire.Inbox()
    got = [message for index in range(len(data)) for message in inbox.feed(data[index : index + 1])]
    assert got == ["one", [2] * 100]


def test_channel_never_blocks() -> None:
    one, other = socket.socketpair()
    channel = wire.Channel(one)
    big = b"x" * 10_000_000
    channel.send(big)

    def busy() -> bool:
        return channel.wants_to_write

    assert busy()
    received: list[object] = []
    reader = threading.Thread(target=lambda: received.append(wire.receive(other)[0]))
    reader.start()
    while busy():
        channel.flush()
    reader.join(60)
    assert received == [big]
    wire.send(other, "last words")
    other.close()
    assert channel.receive() == ["last words"]
    assert channel.receive() == []
    assert channel.ended
    channel.send("into the void")
    channel.close()


def test_tail(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert tail(path) == ""
    path.write_bytes(b"\xff\n" + b"".join(b"line %d\n" % index for index in range(100_000)))
    assert tail(path, 2) == "line 99998\nline 99999"
    assert len(tail(path).splitlines()) == 40
    path.write_bytes(b"y" * 1_000_000)
    assert tail(path) == "y" * 16_384


def test_results() -> None:
    results = Results({TaskId("worker", 0): "a", TaskId("worker", 1): "b"})
    assert results["worker:1"] == results[TaskId("worker", 1)] == "b"
    assert list(results) == [TaskId("worker", 0), TaskId("worker", 1)]
    keys: list[object] = ["worker:0", "worker:2", "worker", 0]
    assert [key in results for key in keys] == [True, False, False, False]
    with pytest.raises(KeyError):
        results["worker:2"]


def test_import_time_variables() -> None:
    environ = {"TF_X": "1", "TF_CONFIG": "2", "CUDA_VISIBLE_DEVICES": "3", "OMP_NUM_THREADS": "4", "HOME": "5"}
    assert import_time_variables(environ) == {"TF_X": "1", "OMP_NUM_THREADS": "4"}


def _module(name: str, file: str, loader: object = None) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = file
    module.__spec__ = ModuleSpec(name, loader, origin=file)  # type: ignore[arg-type]
    return module


class AssertionRewritingHook:
    """Known by its name, as pytest's own is."""


def test_what_goes_by_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "importable_one.py"
    path.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = [
        _module("importable_one", str(path)),
        _module("other_file", str(tmp_path / "elsewhere" / "other_file.py")),
        _module("importable_two", str(path), AssertionRewritingHook()),
    ]
    for module in modules:
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = serialize.modules_by_value()
    assert [module in found for module in modules] == [False, True, True]
    assert not [one for one in found if one.__name__.startswith("pytest_tfperf")]
    assert json not in found
    assert pytest not in found
    assert serialize.is_rewritten(sys.modules[__name__])


def test_code_keeps_its_file() -> None:
    function = pickle.loads(serialize.dumps(lambda: 1))
    assert function() == 1
    assert function.__code__.co_filename == __file__


def test_nothing_stays_registered() -> None:
    import cloudpickle

    with pytest.raises(UsageError, match="cannot be sent to a task"):
        serialize.dumps(threading.Lock())
    assert __name__ not in cloudpickle.list_registry_pickle_by_value()


def test_the_room_imports_nothing_heavy() -> None:
    code = "import sys, pytest_tfperf.cluster; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert not {"tensorflow", "numpy", "cloudpickle", "pytest"} & set(done.stdout.split())
