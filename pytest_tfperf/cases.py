"""The session's tests, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_tfperf.records.arm import SweepSpec
from pytest_tfperf.report.document import Outcome


@dataclass(frozen=True)
class TestCase:
    """A test at one replica count."""

    id: str
    """pytest's node id."""
    spec: SweepSpec
    replicas: int
    file: str
    """Relative to pytest's root."""
    line: int
    """Of its definition, counted from 1."""
    outcome: Outcome = "not run"
    text: str = ""
    """Why it failed, could not be measured or was skipped."""

    __test__ = False  # Its name is no test's, whatever pytest may think.


class TestCases:
    """Every selected test in the order of the session."""

    __test__ = False

    def __init__(self) -> None:
        self._cases: dict[str, TestCase] = {}

    def __iter__(self) -> Iterator[TestCase]:
        return iter(self._cases.values())

    def __len__(self) -> int:
        return len(self._cases)

    def add(self, case: TestCase) -> None:
        self._cases[case.id] = case

    def note(self, id: str, outcome: Outcome, text: str = "") -> None:
        """Take a phase's outcome: of the phases of one attempt the worst counts, and a later attempt replaces all.

        A test that passed and then cannot be torn down is in error; one that failed has failed whatever follows.
        """
        case = self._cases.get(id)
        if case is None or (outcome == "passed" and case.outcome in ("failed", "error")):
            return
        if outcome == "error" and case.outcome == "failed":
            return
        self._cases[id] = replace(case, outcome=outcome, text=text)

    def restart(self, id: str) -> None:
        """Forget what became of a test: it is run once more."""
        if id in self._cases:
            self._cases[id] = replace(self._cases[id], outcome="not run", text="")
