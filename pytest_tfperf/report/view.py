"""One view of a verdict: all text and numbers formatted once; the writers only arrange it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf

from pytest_tfperf.diagnosis.moved import what_moved
from pytest_tfperf.records.against import Revision
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Change, Environment
from pytest_tfperf.report.rows import Row, rows_of
from pytest_tfperf.units import format_confidence, format_percent, format_seconds, plural

_UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.INCOMPARABLE)


@dataclass(frozen=True)
class ArmView:
    """Everything a reader gets to see of one arm."""

    title: str
    """Workload, strategy, devices, and where there is one the variant and the other revision."""
    verdict: Verdict
    """Of the arm."""
    rows: tuple[Row, ...]
    """The table."""
    notes: tuple[str, ...]
    """What there is to say, a sentence or more each."""
    details: tuple[str, ...]
    """What is known of the arm beyond its speed: variables, bytes, links."""
    legend: str
    """What +- and [ ] mean."""
    footer: str
    """Rounds, time, and the command that measures it again."""
    before: str = "baseline"
    """What the figures are held against, for the column's head."""
    findings: tuple[str, ...] = ()
    """Those of the notes that are shown for a passed arm too: stragglers, disturbed runs, too good scaling, and why
    nothing was decided.
    """

    @property
    def headline(self) -> str:
        """One line for lists of failures, what moved first: pytest's own list cuts it at the terminal's width."""
        bad = [row for row in self.rows if row.severity is Verdict.REGRESSED]
        moved = ", ".join(f"{row.label} {row.change}" if row.change else f"{row.label} {row.now}" for row in bad)
        return f"{self.verdict}{f' ({moved})' if moved else ''}: {self.title}"


def arm_view(
    verdict: ArmVerdict,
    *,
    environment: Environment,
    soft_changes: Sequence[Change],
    warnings: Sequence[str],
    details: Sequence[str],
    rounds: int,
    seconds: float,
    command: str,
    against: Revision | None = None,
    findings: Sequence[str] = (),
    planned: int | None = None,
    left_out: int = 0,
    strict: str = "",
    variant: str | None = None,
) -> ArmView:
    """Make the view; `seconds` is what the sweep took until it was decided, `command` reruns just this arm.

    `planned` rounds might have been measured; None: as many as were. Of the rounds, `left_out` do not count. `strict`
    is what is not decided, where that fails the test.
    With `against`, what the verdict was held against is no stored baseline but that revision, in the same rounds.
    """
    arm = verdict.arm
    devices = environment.hard.get("gpu_model") if arm.device == "gpu" else environment.hard.get("cpu_model")
    count = f"{arm.replicas} x " if arm.device == "gpu" else f"{plural(arm.replicas, 'CPU rank')} on "
    notes = [what_moved(verdict), *findings, *(f"{_capital(reason)}." for reason in verdict.reasons)]
    notes += [f"Odd: {warning}." for warning in warnings]
    # Failed, as under --tfperf-strict, such a verdict is told with its notes; passed, nobody would see its reasons.
    told = [f"{_capital(reason)}." for reason in verdict.reasons if not strict and verdict.verdict in _UNDECIDED]
    if strict:
        notes.append(f"--tfperf-strict is on: it fails a test for what is not decided, here {strict}.")
    if verdict.baseline is not None:
        since = _since(verdict.baseline) if against is None else str(against)
        notes.append(f"Since {since}: {_changes(soft_changes)}.")
    versus = f", against {against}" if against is not None else ""
    named = f", variant {variant}" if variant else ""  # variants of one workload look the same otherwise
    compared = bool(verdict.metrics)
    return ArmView(
        title=f"{arm.workload} / {arm.strategy} / {count}{devices}{named}{versus}",
        verdict=verdict.verdict,
        rows=rows_of(verdict),
        notes=tuple(note for note in notes if note),
        details=tuple(details),
        findings=(*findings, *told),
        legend=_legend(verdict, compared),
        footer=f"{_rounds(rounds, planned, left_out)} in {format_seconds(seconds)}{versus}. Again: {command}",
        before="baseline" if against is None else against.name,
    )


def _legend(verdict: ArmVerdict, compared: bool) -> str:
    legend = "+- half the 95 % interval of the mean over runs"
    known = [metric.comparison for metric in verdict.metrics if not isinf(metric.comparison.change.high)]
    if not compared or not known:
        return legend
    legend += f"; [ ] the {format_confidence(known[0].change.confidence)} interval of the change"
    # E(N) is asked about both ways, so each of its ends may be wrong half as often.
    other = next((each for each in known if each.change.confidence != known[0].change.confidence), None)
    legend += f", for {other.label} {format_confidence(other.change.confidence)}" if other else ""
    common = next((each for each in verdict.metrics if each.comparison.metric == "common" and not each.excused), None)
    legend += f"; {common.comparison.label}: their geometric mean" if common else ""
    unknown = next((each for each in known if each.days and each.metric != "common"), None)
    if unknown:
        say = "session says" if unknown.sessions == 1 else "sessions say"
        least = format_percent(unknown.days, decimals=0)
        legend += f"; at least {least} where a day may do it, of which {unknown.sessions} {say} little"
    days = dict.fromkeys(format_confidence(each.day_confidence) for each in known if each.day_confidence is not None)
    return legend + (f"; as far as sessions differ, {' or '.join(days)}" if days else "")


def _since(baseline: BaselineEntry) -> str:
    saved = baseline.provenance
    commit = f" ({saved.commit[:7]}{', with uncommitted changes' if saved.dirty else ''})" if saved.commit else ""
    count = len(baseline.sessions)
    since = "the baseline of" if count == 1 else f"the newest of {count} sessions,"
    return f"{since} {saved.date[:10]}{commit}"


def _changes(changes: Sequence[Change]) -> str:
    what = ", ".join(f"{key} {old or 'not set'} -> {new or 'not set'}" for key, old, new in changes)
    return what or "no version or setting changed"


def _rounds(measured: int, planned: int | None, left_out: int) -> str:
    text = plural(measured, "round") if planned in (None, measured) else f"{measured} of {plural(planned, 'round')}"
    return f"{text} ({left_out} left out)" if left_out else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
