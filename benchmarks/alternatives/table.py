"""The table of one contest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.alternatives.contestant import Outcome
from benchmarks.alternatives.contests import OURS
from pytest_tfperf.diagnosis.model_flops import format_flops, utilisation
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.units import format_number, format_percent, format_seconds

HEAD = ("contestant", "examples/s", "spread", "of ours", "first step", "parameters", "model FLOP/s", "of peak")


def table(outcomes: Mapping[str, Sequence[Outcome]], cost: ModelCost | None, precision: str) -> str:
    """Rows in the order of the contestants; `outcomes` are each one's, round by round.

    Examples/s are the median of the rounds and their spread from lowest to highest, over it. The ratio to ours is the
    median of the rounds' ratios.
    """
    rows: list[tuple[str, ...]] = [HEAD]
    reasons = []
    for name, runs in outcomes.items():
        rates = [run.examples_per_second for run in runs if not run.problem]
        problems = [run.problem for run in runs if run.problem]
        if problems:
            # Also where other rounds worked: what failed once is not passed over.
            reasons.append(f"{name}: {problems[-1]}")
        if not rates:
            rows.append((name, "none", *[""] * (len(HEAD) - 2)))
            continue
        rate, last = median(rates), next(run for run in reversed(runs) if not run.problem)
        spread = format_percent((max(rates) - min(rates)) / rate) if len(rates) > 1 else ""
        flops = rate * cost.flops if cost else 0.0
        share = utilisation(flops, last.gpu, precision) if cost else None
        rows.append(
            (
                name,
                format_number(rate),
                spread,
                _ratio(runs, outcomes.get(OURS, ())),
                format_seconds(median(run.first_step_seconds for run in runs if not run.problem)),
                f"{last.parameters:,}".replace(",", " "),
                format_flops(flops) if cost else "",
                "" if share is None else format_percent(share),
            )
        )
    return "\n".join([*_aligned(rows), *reasons])


def _ratio(runs: Sequence[Outcome], ours: Sequence[Outcome]) -> str:
    """Of the rounds in which both were measured; one that fails is not tried again, so rounds are in step."""
    pairs = [(a, b) for a, b in zip(runs, ours) if not a.problem and not b.problem]
    return f"{median(a.examples_per_second / b.examples_per_second for a, b in pairs):.3f}" if pairs else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines
