"""The supervisor's children: forked, reaped, and none of them left over."""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable

from pytest_tfperf.cluster import process
from pytest_tfperf.cluster.shortage import refused


class Children:
    """Every process that the supervisor has started, and what those leave behind."""

    def __init__(self) -> None:
        self._tasks: dict[int, int] = {}
        """Process id of each living task by its key."""
        self._switches: dict[int, int] = {}
        """The same of the processes that join clusters' hosts."""
        self.not_inherited: list[int] = []
        """Descriptors that are not for a child."""

    def fork_task(self, key: int, log: int, cores: tuple[int, ...] | None, become: Callable[[], None]) -> int | None:
        """As `fork`; it is killed with the others."""
        pid = self.fork(log, cores, become)
        if pid is not None:
            self._tasks[key] = pid
        return pid

    def fork_switch(self, key: int, become: Callable[[], None]) -> None:
        """The same for a process that joins hosts, and that writes into the supervisor's log."""
        pid = self.fork(os.dup(2), None, become)
        if pid is not None:
            self._switches[key] = pid

    def fork(self, log: int, cores: tuple[int, ...] | None, become: Callable[[], None]) -> int | None:
        """Process id of the child; None where the system has no room for one, which the log then tells."""
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            with contextlib.suppress(OSError):
                os.write(log, f"No process for it: {refused(error)}\n".encode())
            os.close(log)
            return None
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                process.detach(me, log, cores)
                for fd in self.not_inherited:
                    os.close(fd)
                become()
            except BaseException:
                traceback.print_exc()  # into the log
            finally:
                os._exit(process.NOT_SET_UP)
        os.close(log)
        return pid

    def signal(self, key: int, number: int, *, group: bool) -> None:
        """Signal a child that still lives, or with `group` all that it leads."""
        pid = self._tasks.get(key) or self._switches.get(key)
        if pid is not None:
            process.signal_process(pid, number, group=group)

    def reap(self) -> list[tuple[int, int]]:
        """Key and exit code of each child that has ended; what it led is killed."""
        ended: list[tuple[int, int]] = []
        for key, pid in [*self._tasks.items(), *self._switches.items()]:
            # Left a zombie, the task keeps its process id, so that no other group can be killed by mistake.
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            process.signal_process(pid, signal.SIGKILL, group=True)
            _, status = os.waitpid(pid, 0)
            if self._switches.pop(key, None) is None:
                del self._tasks[key]
                if not self._tasks:
                    self._kill_orphans()
            ended.append((key, os.waitstatus_to_exitcode(status)))
        living = {*self._tasks.values(), *self._switches.values()}
        for pid in process.children():
            if pid not in living:
                os.waitpid(pid, os.WNOHANG)
        return ended

    def kill_all(self) -> None:
        everyone = [*self._tasks.values(), *self._switches.values()]
        for pid in everyone:
            process.signal_process(pid, signal.SIGKILL, group=True)
        for pid in everyone:
            os.waitpid(pid, 0)
        self._tasks.clear()
        self._switches.clear()
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """Kill what the tasks left behind in sessions of their own; killing one can hand us another."""
        for _ in range(100):
            orphans = set(process.children()) - set(self._switches.values())
            if not orphans:
                return
            for pid in orphans:
                process.signal_process(pid, signal.SIGKILL, group=False)
            for pid in orphans:
                os.waitpid(pid, 0)
