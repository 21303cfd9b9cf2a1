"""What a reader gets to see of a decision about an arm."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tfperf.against.hold import Held, other_fact_lines
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.diagnosis.ablation import what_difference_costs
from pytest_tfperf.diagnosis.details import fact_lines, link_lines, step_lines
from pytest_tfperf.diagnosis.findings import findings
from pytest_tfperf.diagnosis.model_flops import flops_lines
from pytest_tfperf.diagnosis.straggler import own_pace_lines
from pytest_tfperf.diagnosis.suspects import SuspectVerdict, doubted, try_counting, try_suspect
from pytest_tfperf.judgement import judgement
from pytest_tfperf.judging import Decision
from pytest_tfperf.measurement import environment as environments
from pytest_tfperf.outcome import left_open
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.report.document import Judgement
from pytest_tfperf.report.view import ArmView, arm_view
from pytest_tfperf.units import plural

_MOST_ASKED_FOR = 30
"""Rounds beyond which a rerun is not worth its time."""


@dataclass(frozen=True)
class ArmReport:
    """One arm's measurement, the decision about it, and how it is told."""

    result: SweepResult
    verdict: ArmVerdict
    judgement: Judgement
    suspect: SuspectVerdict | None = None

    @property
    def view(self) -> ArmView:
        return self.judgement.view


def arm_report(decision: Decision, result: SweepResult, config: PerfConfig, nodeid: str) -> ArmReport:
    """Make the report of an arm; `result` is the sweep as it is in the end, and `nodeid` is what reruns the arm."""
    verdict, held, then = decision.verdict, decision.held, decision.result
    replicas = verdict.arm.replicas
    before = held.baseline.environment.soft if held.baseline else None
    planned = verdict.look.planned if verdict.look else then.rounds
    left_out = then.rounds_left_out(replicas)
    suspect = _suspect(then, verdict)
    changes = () if before is None else tuple(environments.changed(before, then.environment.soft))
    view = arm_view(
        verdict,
        environment=then.environment,
        soft_changes=changes,
        warnings=then.warnings_of(replicas),
        findings=findings(then, verdict),
        details=(*_new_here(then, held), *_details(then, verdict, suspect)),
        rounds=then.rounds,
        planned=planned,
        left_out=len(left_out),
        seconds=then.seconds,
        command=f'pytest "{nodeid}" --tfperf-rounds {rounds_to_rerun(verdict, planned)}'
        + (f" --tfperf-against {config.against}" if then.opponent else "")
        + (f" {config.rerun_options}" if config.rerun_options else ""),
        against=then.opponent.revision if then.opponent else None,
        strict=left_open(verdict, config) if config.strict else "",
        variant=then.sweep.spec.variant,
    )
    return ArmReport(result, verdict, judgement(verdict, view, changes, left_out), suspect)


def rounds_to_rerun(verdict: ArmVerdict, planned: int) -> int:
    """As many as would decide what is left open, if known and more than `planned`; twice `planned` otherwise.

    `planned` where there is nothing to compare with: more rounds would not help.
    """
    if verdict.verdict in (Verdict.NO_BASELINE, Verdict.INCOMPARABLE):
        return planned
    needed = [
        metric.comparison.rounds_needed or 0
        for metric in verdict.metrics
        if verdict.verdict is Verdict.INCONCLUSIVE and metric.verdict is Verdict.INCONCLUSIVE and not metric.excused
    ]
    most = min(max(needed, default=0), _MOST_ASKED_FOR)
    return most if most > planned else 2 * planned


def _suspect(result: SweepResult, verdict: ArmVerdict) -> SuspectVerdict | None:
    """What the arm says of the suspect that its test names."""
    spec = result.sweep.spec
    if not spec.suspect:
        return None
    name, figures, replicas = spec.suspect, verdict.figures, verdict.arm.replicas
    if len(spec.replicas) > 1:
        name += f", {plural(replicas, 'replica')}"
    if figures.speedup is None:
        tried = try_counting(name, figures.efficiency, replicas)
    else:
        tried = try_suspect(name, figures.speedup)
    return doubted(tried) if result.disturbances_of(replicas) else tried


def _new_here(result: SweepResult, held: Held) -> tuple[str, ...]:
    """Why the other revision says nothing of the arm: no failure tells it, since that passes."""
    return (held.missing,) if result.opponent and held.missing else ()


def _details(result: SweepResult, verdict: ArmVerdict, suspect: SuspectVerdict | None) -> tuple[str, ...]:
    """Of the arm, and of what it is held against, as the last of their runs that count show them."""
    spec, replicas, speedup = result.sweep.spec, verdict.arm.replicas, verdict.figures.speedup
    versus = spec.versus_arm(replicas)
    if suspect is not None:
        lines = [suspect.line]
    else:
        lines = [what_difference_costs(speedup, verdict.versus)] if speedup else []
    for arm in (result.arm_of(replicas), *([versus] if versus else [])):
        runs = result.counting_runs(arm, replicas)
        last, params = runs[-1], spec.recipe_of(arm).workload_params
        known = (
            *flops_lines(last, str(result.environment.hard.get("gpu_model", "")), str(params.get("precision", ""))),
            *step_lines(last),
            *own_pace_lines(runs),
            *fact_lines(last),
            *link_lines(last),
        )
        lines += [f"{arm.label}, {line}" for line in known]
    if versus and speedup and spec.versus and spec.versus.workload_params == spec.recipe.workload_params:
        # Of the same batches, so it is an efficiency too: E(N) over S(N).
        lines.append(f"{versus.label}, efficiency: {verdict.figures.efficiency.value / speedup.value:.3f}")
    return (*lines, *other_fact_lines(result, replicas))
