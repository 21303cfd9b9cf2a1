"""The other revision as this session sees it: what it has of a test, and one run of an arm at a time."""

from __future__ import annotations

import atexit
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from pytest_tfperf.against.command import Invocation, command, files_there, working_directory
from pytest_tfperf.against.git import find_revision, outside_of_hooks, top_of_checkout
from pytest_tfperf.against.paths import other_variables
from pytest_tfperf.against.process import OtherPytest
from pytest_tfperf.against.protocol import PROTOCOL, Offer, ProtocolError, read_measurement, read_offer
from pytest_tfperf.against.worktree import Worktree
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import OtherSideError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.against import Opponent, Revision
from pytest_tfperf.records.arm import Arm, Scalar, Sweep, SweepSpec
from pytest_tfperf.records.run import Run

_PATIENCE = 60.0
"""Seconds beyond its own deadline that the other side may take to answer."""


class OtherSide:
    """A worktree of the revision and the pytest that measures in it; both end with `close`."""

    def __init__(self, config: PerfConfig, invocation: Invocation, cores: Sequence[int] = ()) -> None:
        """Check the revision out and start its pytest, whose imports go on while this side does other things.

        `cores` are those that this side measures on; empty where nobody can be pinned.

        Raises:
            UsageError: this is no git repository, or it does not have the revision.
            OtherSideError: the interpreter cannot be started.
        """
        self._config = config
        self._cores = cores
        top = top_of_checkout(config.root)
        self.revision: Revision = find_revision(top, config.against)
        self._worktree = Worktree.add(top, self.revision)
        self._pytest: OtherPytest | None = None
        self._offer: Offer | None = None
        self._fault: OtherSideError | None = None
        self._owner = os.getpid()
        atexit.register(self.close)
        try:
            if files_there(self._worktree, invocation.files):
                self._pytest = self._started(invocation)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """Process id of its pytest; None where the revision has none of the test files."""
        return self._pytest.pid if self._pytest else None

    @property
    def logs(self) -> str:
        """Folder of the logs of its tasks, once it is known and if they are kept."""
        return self._offer.logs if self._offer else ""

    def offer(self) -> Offer:
        """What the other side can measure; waits until it has collected its tests and imported TensorFlow.

        Raises:
            OtherSideError: it did not come up; the same error each time it is asked for.
        """
        if self._fault is not None:
            raise self._fault
        if self._offer is None:
            try:
                self._offer = self._asked_offer()
            except OtherSideError as error:
                self._fault = error
                raise
        return self._offer

    def opponent(self, sweep: Sweep) -> Opponent:
        """What the other side has of a test.

        Raises:
            OtherSideError: it is not up, or could not collect the test's file.
        """
        offer, test = self.offer(), sweep.spec.test
        file = test.partition("::")[0]
        for node, text in offer.problems.items():
            if node in ("", ".") or file == node or file.startswith(f"{node}/"):
                raise OtherSideError(f"{self.revision}: {node or file} cannot be collected there:\n{text}")
        if test in offer.skipped:
            return Opponent(self.revision, f"{self.revision} skips this test, so there is nothing to compare")
        if test not in offer.tests:
            return Opponent(
                self.revision, f"new in this checkout: {self.revision} has no such test, so there is nothing to compare"
            )
        found = offer.tests[test]
        soft = offer.soft.get(found.device, {})
        return Opponent(self.revision, "", found.definition, found.replicas, soft)

    def side(self, sweep: Sweep, definition: dict[str, Scalar], opponent: Opponent) -> RemoteSide | None:
        """What measures the test's arms there; None where nothing of it can be compared."""
        shared = set(sweep.replicas) & set(opponent.replicas)
        if opponent.missing or not shared or dict(opponent.definition) != definition:
            return None
        return RemoteSide(self, opponent)

    def measured(self, spec: SweepSpec, arm: Arm, number: int) -> tuple[Run, tuple[str, ...], dict[str, str]]:
        """One run of an arm, the facts of its step, and the versions that its tasks saw.

        Raises:
            OtherSideError: it could not be measured.
        """
        offer = self.offer().tests[spec.test]
        which: str | int = "reference" if arm.is_reference else arm.replicas
        request = {"do": "measure", "test": spec.test, "arm": which, "round": number}
        assert self._pytest is not None
        runs = 1 + self._config.measurement.max_repeats
        try:
            answer = read_measurement(self._pytest.ask(request, runs * offer.timeout + _PATIENCE))
        except ProtocolError as error:
            raise OtherSideError(f"{self.revision}: {error}.") from None
        run = Run(
            arm,
            number,
            answer.throughput,
            answer.step_time,
            tasks=(),
            warnings=answer.warnings,
            disturbances=answer.disturbances,
            outside=answer.outside,
            attempts=1 + len(answer.discarded),
            discarded=answer.discarded,
        )
        return run, answer.facts, dict(answer.versions)

    def close(self) -> None:
        """End the other pytest and remove the worktree. Safe to call again."""
        if os.getpid() != self._owner:  # a process that pytest forked inherits its exit handlers
            return
        with uninterrupted():
            atexit.unregister(self.close)
            try:
                if self._pytest is not None:
                    self._pytest.close()
            finally:
                self._worktree.remove()

    def _started(self, invocation: Invocation) -> OtherPytest:
        ours, theirs = socket.socketpair()
        python = self._config.against_python or sys.executable
        env = outside_of_hooks(os.environ.copy())
        for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):  # the former's part is in the invocation
            env.pop(name, None)
        root = self._config.root
        env["PYTHONPATH"] = other_variables(self._worktree, root, env.get("PYTHONPATH"))
        return OtherPytest(
            str(self.revision),
            command(self._worktree, invocation, self._config, python, theirs.fileno()),
            (ours, theirs),
            log=self._worktree.folder / "output.txt",
            cwd=working_directory(self._worktree, invocation),
            env=env,
        )

    def _asked_offer(self) -> Offer:
        if self._pytest is None:
            return Offer(PROTOCOL, plugin="", tests={})
        folders = {"checkout": str(self._worktree.checkout), "worktree": str(self._worktree.top)}
        request = {"do": "hello", "protocol": PROTOCOL, **folders, "cores": list(self._cores)}
        try:
            offer = read_offer(self._pytest.ask(request, self._config.timeout + _PATIENCE))
        except ProtocolError as error:
            raise OtherSideError(f"{self.revision}: its pytest-tfperf does not fit this one: {error}.") from None
        if offer.foreign:
            raise OtherSideError(
                f"{self.revision}: its tests import code of this checkout, so both sides would measure the same: "
                f"{', '.join(offer.foreign[:3])}. Put the folder that the code is in on sys.path (pytest's ini value "
                "pythonpath), or give --tfperf-against-python an interpreter without this checkout installed."
            )
        return offer


class RemoteSide:
    """One test's arms at the other revision, for the rounds; what it learns of them is in `opponent`."""

    def __init__(self, other: OtherSide, opponent: Opponent) -> None:
        self.name = str(other.revision)
        self._other = other
        self._opponent = opponent
        self._facts: dict[Arm, tuple[str, ...]] = {}
        self._versions: dict[str, str] = {}

    def measures(self, arm: Arm) -> bool:
        """The reference and the counts that both sides have; not what only this side's floor is about."""
        return arm.is_reference or (arm.role == "measured" and arm.replicas in self._opponent.replicas)

    def run(self, spec: SweepSpec, arm: Arm, number: int) -> Run:
        run, facts, versions = self._other.measured(spec, arm, number)
        self._facts[arm] = facts
        self._versions.update(versions)
        return run

    @property
    def opponent(self) -> Opponent:
        """With the facts and versions of the runs so far."""
        soft = {**self._opponent.soft, **self._versions}
        return replace(self._opponent, soft=soft, facts=dict(self._facts))
