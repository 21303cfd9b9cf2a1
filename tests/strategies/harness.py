"""A tiny cluster for these tests: processes of their own, one pipe each, a deadline.

They are forked from a server that has imported TensorFlow and touched no device: the import takes longer than most
trainings here.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from pytest_tfperf.cluster.generated import keep_generated_code
from pytest_tfperf.records.task import Layout, TaskId

Job = Callable[..., Any]
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tensorflow", "keras", "tf_keras"])


@dataclass
class FakeTask:
    """A task that asks the test's process for everything; `local` makes one that stands alone."""

    id: TaskId
    cluster: Mapping[str, Sequence[str]]
    pipe: Connection | None = None
    gpus: tuple[str, ...] = ()

    @classmethod
    def local(cls) -> FakeTask:
        return cls(TaskId("worker", 0), {"worker": ["localhost:1"]})

    def phase(self, name: str) -> None:
        print(f"{self.id}: {name}", flush=True)
        if name == "building" and set(self.cluster) == {"worker"}:
            # A process trains several times here, and each strategy sets up its collectives anew, which ends what a
            # rank that is ahead has begun with those of before. So none begins until all have set theirs up.
            self.exchange(name, None, [TaskId("worker", index) for index in range(len(self.cluster["worker"]))])

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        if self.pipe is None:
            return {self.id: value}
        self.pipe.send(("exchange", name, value, tuple(among)))
        values: dict[TaskId, object] = self.pipe.recv()
        return values

    def wait_for_release(self) -> None:
        if self.pipe is not None:
            self.pipe.send(("release",))
            self.pipe.recv()


def _child(
    pipe: Connection,
    id: TaskId,
    cluster: dict[str, list[str]],
    environ: dict[str, str],
    generated: str,
    job: Job,
    arguments: dict[str, Any],
) -> None:
    # The server's environment is that of the first test that needed it.
    os.environ.update(environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", TEST_RANK=str(id.index))
    keep_generated_code(generated)  # it leaves by os._exit, and TensorFlow would remove nothing
    try:
        pipe.send(("result", job(FakeTask(id, cluster, pipe), **arguments)))
        pipe.recv()  # leave together: a rank that is still at work needs its peers
    except BaseException:
        pipe.send(("error", traceback.format_exc()))
    os._exit(0)


def run_tasks(layout: Layout, job: Job, timeout: float = 240.0, **arguments: Any) -> dict[TaskId, Any]:
    """Run `job(task, **arguments)` in every task of a new cluster; give the tasks' results."""
    ids = [TaskId("chief", 0)] if layout.chief else []
    ids += [TaskId("worker", i) for i in range(layout.workers)] + [TaskId("ps", i) for i in range(layout.ps)]
    cluster: dict[str, list[str]] = {}
    for id, port in zip(ids, _free_ports(len(ids)), strict=True):
        cluster.setdefault(id.type, []).append(f"localhost:{port}")
    environ = dict(os.environ)
    with ExitStack() as stack:
        generated = stack.enter_context(tempfile.TemporaryDirectory())
        pipes: dict[TaskId, Connection] = {}
        for id in ids:
            ours, theirs = PROCESSES.Pipe()
            process = PROCESSES.Process(
                target=_child, args=(theirs, id, cluster, environ, generated, job, arguments), name=str(id)
            )
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
            theirs.close()
            pipes[id] = ours
        results = _serve(pipes, time.monotonic() + timeout)
        for pipe in pipes.values():
            pipe.send(None)
        return results


def _serve(pipes: Mapping[TaskId, Connection], deadline: float) -> dict[TaskId, Any]:
    owner = {pipe: id for id, pipe in pipes.items()}
    results: dict[TaskId, Any] = {}
    released: set[TaskId] = set()
    exchanges: dict[str, dict[TaskId, object]] = {}
    while len(results) < len(pipes):
        ready = wait([pipe for id, pipe in pipes.items() if id not in results], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError(f"no result from {[str(id) for id in pipes if id not in results]}")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            kind, *rest = pipe.recv()
            if kind == "error":
                raise AssertionError(f"{owner[pipe]} failed:\n{rest[0]}")
            if kind == "result":
                results[owner[pipe]] = rest[0]
            elif kind == "release":
                released.add(owner[pipe])
            else:
                name, value, among = rest
                values = exchanges.setdefault(name, {})
                values[owner[pipe]] = value
                if set(values) == set(among):
                    del exchanges[name]
                    for id in among:
                        pipes[id].send(values)
        if released and len(results) + len(released) == len(pipes):
            for id in released:
                pipes[id].send(None)
            released = set()
    return results


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in sockets]
