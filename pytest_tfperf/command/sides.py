"""A file as one side of a comparison: the arms that it holds, whether it is a baseline or a session's report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from pytest_tfperf.baseline.reading import Reader
from pytest_tfperf.baseline.schema import BaselineFile
from pytest_tfperf.errors import BaselineError, ReportError
from pytest_tfperf.records.arm import Arm, Device, Role
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.counting import Disturbed, counting
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.json_file import read_json
from pytest_tfperf.report.measured import MeasuredArm, MeasuredSweep
from pytest_tfperf.units import plural, slowed_by

Key = tuple[str, str, str, Device, int]
"""Workload, strategy, variant, device and replica count: what tells the arms of a session from each other, as tests
that have all of these in common measure the same thing."""


@dataclass(frozen=True)
class SideArm:
    """An arm as one side has it."""

    entry: BaselineEntry
    """Its runs as a baseline holds them; those of a report are its only session."""
    device: Device
    group: str
    """What shares its T(1): a test, or a baseline file."""
    own_reference: bool
    """True where T(N) is T(1)."""
    versus: tuple[float, ...] = ()
    """Throughput of what the arm is held against, by round of the newest session."""
    versus_name: str = ""
    tolerance: float | None = None
    """Largest relative loss that is no regression; None where the side says nothing of it."""
    disturbed: tuple[str, ...] = ()
    """What disturbed runs that count."""
    left_out: tuple[str, ...] = ()
    """What disturbed the runs of rounds that do not."""
    warnings: tuple[str, ...] = ()
    whole_rounds: int = 0
    """Of a report: those in which all that the arm needs was measured, whether they count or not."""
    interrupted: bool = False
    """True for a test of a report that its session did not finish."""
    slowed: tuple[str, ...] = ()
    """What of it was slowed on purpose: ``T(4) by 10 %``."""

    @property
    def key(self) -> Key:
        entry = self.entry
        return entry.workload, entry.strategy, entry.variant or "", self.device, entry.replicas

    @property
    def arm(self) -> Arm:
        entry = self.entry
        role: Role = "reference" if self.own_reference else "measured"
        return Arm(entry.workload, entry.strategy, entry.replicas, self.device, role)

    @property
    def newest(self) -> PairedRuns:
        """The runs of its newest session."""
        session = self.entry.latest
        return PairedRuns(
            reference=session.reference_throughput,
            reference_step_time=session.reference_step_time,
            throughput=session.throughput,
            step_time=session.step_time,
            versus=self.versus,
        )

    def __str__(self) -> str:
        return f"{self.entry.name} at {plural(self.entry.replicas, 'replica')} ({self.device})"


@dataclass(frozen=True)
class Side:
    """A file's arms."""

    path: Path
    text: str
    """What it is, for the reader."""
    arms: tuple[SideArm, ...]
    lost: Mapping[str, str] = field(default_factory=dict)
    """Tests of a report that have no runs, with the reason."""


def read_side(path: Path) -> Side:
    """Read a baseline file or a JSON report; which of the two it is, its content says.

    Raises:
        BaselineError: it is broken, cannot be read, or is neither.
        ReportError: it looks like a report, and is none that this version reads.
    """
    if path.is_dir():
        raise BaselineError(f"{path}: is a folder; compare takes two files, each a baseline or a JSON report")
    if looks_like_json(path):
        return _of_report(path, read_json(path))
    try:
        return _of_baseline(path, Reader().anywhere(path))
    except BaselineError as error:
        if path.suffix in (".yaml", ".yml") or not path.exists():
            raise
        raise BaselineError(f"{path}: is neither a baseline nor a report that --tfperf-json wrote") from error


def looks_like_json(path: Path) -> bool:
    """Whether the first thing in a file is an object of JSON; a baseline begins with a key or a comment."""
    if path.suffix == ".json" or not path.is_file():  # opening a named pipe would wait for ever
        return path.suffix == ".json"
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False


def _of_baseline(path: Path, file: BaselineFile) -> Side:
    device: Device = "gpu" if file.hard.get("gpu_count") else "cpu"
    arms = tuple(
        SideArm(
            entry=entry,
            device=device,
            group=file.name,
            own_reference=entry.is_own_reference,
            tolerance=entry.tolerance,
        )
        for count, entry in sorted(file.entries.items())
    )
    return Side(path, f"baseline {file.name} of {Environment(file.hard, {}).name}", arms)


def _of_report(path: Path, report: SessionReport) -> Side:
    arms: list[SideArm] = []
    lost: dict[str, str] = {}
    for case in report.cases:
        sweep = report.sweep_of(case)
        try:
            found = _of_case(report, sweep, case) if sweep is not None else None
        except (LookupError, ValueError) as error:  # as no report that the plugin wrote can be
            raise ReportError(f"{path}: the measurements of {case.id} are damaged ({error!r})") from error
        if found is not None:
            arms.append(found)
        else:
            lost[case.id] = case.headline or case.outcome
    return Side(path, f"session of {report.started}", tuple(arms), lost)


def _of_case(report: SessionReport, sweep: MeasuredSweep, case: Case) -> SideArm | None:
    """The arm of a case; None where it has no round in which all that it needs was measured."""
    place = report.places[sweep.device]
    reference, own, versus = sweep.reference, sweep.arm("measured", case.replicas), sweep.arm("versus", case.replicas)
    if reference is None:
        raise LookupError("no reference")
    needed = [own or reference, reference, *([versus] if versus else [])]
    whole = [run.round for run in needed[0].runs if all(run.round in _rounds(arm) for arm in needed)]
    if not whole:
        return None
    rounds = counting(whole, Disturbed.of(run for arm in needed for run in arm.runs))
    by_round = [{run.round: run for run in arm.runs} for arm in needed]
    if case.replicas < 1 or not all(0 < run.throughput < inf for runs in by_round for run in runs.values()):
        raise ValueError("a throughput or a replica count is not positive")
    throughputs = [tuple(runs[number].throughput for number in rounds) for runs in by_round]
    step_times = [tuple(runs[number].step_time for number in rounds) for runs in by_round]
    session = BaselineSession(
        provenance=Provenance(report.started, report.commit, report.dirty, case.id),
        soft=place.soft,
        reference_throughput=throughputs[1],
        reference_step_time=step_times[1],
        throughput=throughputs[0],
        step_time=step_times[0],
    )
    entry = BaselineEntry(
        workload=case.workload,
        strategy=case.strategy,
        variant=case.variant,
        replicas=case.replicas,
        definition=sweep.definition,
        hard=place.hard,
        sessions=(session,),
    )
    judged = case.judgement
    known = (judged.tolerance, *(metric.tolerance for metric in judged.metrics)) if judged else ()
    tolerance = next((each for each in known if each is not None), report.settings.tolerance)
    unique = {arm.label: arm for arm in needed}.values()
    seen = [(arm, run) for arm in unique for run in arm.runs]

    def disturbances(of: Collection[int]) -> tuple[str, ...]:
        runs = [(arm, run) for arm, run in seen if run.round in of]
        return tuple(f"{arm.label}, round {run.round}: {text}" for arm, run in runs for text in run.disturbances)

    return SideArm(
        entry=entry,
        device=sweep.device,
        group=sweep.test,
        own_reference=own is None,
        versus=throughputs[2] if versus else (),
        versus_name=judged.versus if judged else "",
        tolerance=tolerance,
        disturbed=disturbances(rounds),
        left_out=disturbances(set(whole).difference(rounds)),
        whole_rounds=len(whole),
        interrupted=case.outcome == "not run",
        slowed=tuple(slowed_by(arm.label, arm.slowdown) for arm in unique if arm.slowdown),
        warnings=tuple(dict.fromkeys(f"{arm.label}, {text}" for arm, run in seen for text in run.warnings)),
    )


def _rounds(arm: MeasuredArm) -> set[int]:
    return {run.round for run in arm.runs}
