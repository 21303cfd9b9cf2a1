"""The other side itself: answers requests from the asking side until it says stop or is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest_tfperf
from pytest_tfperf.against.hold import held_definition
from pytest_tfperf.against.paths import foreign_modules
from pytest_tfperf.against.protocol import (
    PROTOCOL,
    Line,
    Measurement,
    Offer,
    ProtocolError,
    TestOffer,
    as_message,
)
from pytest_tfperf.diagnosis.details import fact_lines
from pytest_tfperf.errors import TfPerfError, UsageError
from pytest_tfperf.records.arm import Arm, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.workloads.base import WorkloadDefinition

Measure = Callable[[SweepSpec, Arm, WorkloadDefinition, int], Run]


@dataclass(frozen=True)
class Collected:
    """What the serving pytest collected."""

    tests: Mapping[str, tuple[SweepSpec, WorkloadDefinition]]
    skipped: frozenset[str] = frozenset()
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why a file or folder could not be collected, by its node id."""

    @classmethod
    def of(cls, arms: Iterable[tuple[SweepSpec, WorkloadDefinition, bool]], problems: Mapping[str, str]) -> Collected:
        """From every collected arm and whether it is skipped: a test is, where all its arms are."""
        tests: dict[str, tuple[SweepSpec, WorkloadDefinition]] = {}
        seen: set[str] = set()
        for spec, workload, is_skipped in arms:
            seen.add(spec.test)
            if not is_skipped:
                tests[spec.test] = (spec, workload)
        return cls(tests, frozenset(seen - set(tests)), dict(problems))


class Server:
    """Answers `hello`, `measure` and `stop`."""

    def __init__(
        self,
        collected: Collected,
        ready: Callable[[], tuple[Mapping[str, Mapping[str, str]], str]],
        measure: Measure,
        *,
        cores: Sequence[int],
        pin_to: Callable[[Sequence[int]], None],
        timeout: float,
    ) -> None:
        """Starts nothing yet.

        Args:
            ready: waits until a run could begin at once; gives the soft keys of the environment by device, and the
                folder of the tasks' logs if they are kept.
            measure: makes one run.
            cores: usable CPU cores.
            pin_to: has runs use those that the asking side is on, as many as these.
            timeout: deadline of a run whose marker has none, in seconds.
        """
        self._collected = collected
        self._ready = ready
        self._measure = measure
        self._cores = cores
        self._pin_to = pin_to
        self._timeout = timeout

    def serve(self, line: Line) -> None:
        while True:
            try:
                request = line.receive()
                if request.get("do") == "stop":
                    line.send({})
                    return
                line.send(self._answer(request))
            except EOFError:
                return
            except ProtocolError as error:
                line.send({"error": f"the request cannot be read: {error}"})

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if request.get("do") == "hello":
                given = tuple(int(core) for core in request.get("cores", ()))
                if len(given) == len(self._cores):  # else the definitions say why the sides are not compared
                    self._pin_to(given)
                return as_message(self._offer(Path(str(request["checkout"])), Path(str(request["worktree"]))))
            if request.get("do") == "measure":
                return as_message(self._measured(str(request["test"]), request["arm"], int(request["round"])))
            raise UsageError(f"it does not know the request {request.get('do')!r}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            return {"error": f"the request cannot be read: {error!r}"}
        except TfPerfError as error:
            return {"error": str(error)}

    def _offer(self, checkout: Path, worktree: Path) -> Offer:
        # Both sides would otherwise import TensorFlow while the other measures.
        soft, logs = self._ready() if self._collected.tests else ({}, "")
        plugin = Path(pytest_tfperf.__file__ or "").parent
        return Offer(
            protocol=PROTOCOL,
            plugin=str(plugin),
            tests={
                test: TestOffer(
                    held_definition(spec, self._cores), spec.replicas, spec.device, spec.timeout or self._timeout
                )
                for test, (spec, _) in self._collected.tests.items()
            },
            skipped=tuple(sorted(self._collected.skipped)),
            problems=self._collected.problems,
            foreign=foreign_modules(checkout, worktree),
            soft=soft,
            logs=logs,
        )

    def _measured(self, test: str, which: object, number: int) -> Measurement:
        if test not in self._collected.tests:
            raise UsageError(f"there is no test {test} to measure")
        spec, workload = self._collected.tests[test]
        if which == "reference":
            arm = spec.reference_arm
        elif isinstance(which, int) and which in spec.replicas:
            arm = spec.arm(which)
        else:
            raise UsageError(f"{test} does not measure {which!r} replicas")
        run = self._measure(spec, arm, workload, number)
        versions = {key: value for task in run.tasks for key, value in task.versions.items()}
        return Measurement(
            throughput=run.throughput,
            step_time=run.step_time,
            warnings=run.warnings,
            disturbances=run.disturbances,
            outside=run.outside,
            discarded=run.discarded,
            facts=fact_lines(run),
            versions=versions,
        )
