"""Reports of what rarely comes together: texts that try to be something else, and all that a sweep can hold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import from_json, to_json
from pytest_tfperf.report.measured import MeasuredArm, MeasuredSweep

HOSTILE = (
    "</script></pre></title></style><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    '" onmouseover="window.hacked = 3" <!--\u2028{{ 7 * 6 }}{% raw %}&lt;\x1b[31m'
)

_FIXED = {"verdict", "severity", "outcome", "role", "device", "metric", "started", "test", "label"}
"""Fields whose value is one of a few words, a date, or what other fields are found by."""


def hostile(report: SessionReport) -> SessionReport:
    """The report with `HOSTILE` behind every text that anybody may choose, keys of mappings included."""
    plain: Any = json.loads(to_json(report))
    for sweep in plain["sweeps"]:
        sweep["test"] += HOSTILE
    for case in plain["cases"]:
        case["test"] += HOSTILE
    return from_json(json.dumps(_spoilt(plain)).encode(), "hostile")


def _spoilt(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        free = key in ("places", "hard", "soft", "definition", "logs", "facts", "phases")
        return {name + HOSTILE if free else name: _spoilt(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_spoilt(each, key) for each in value]
    return value + HOSTILE if isinstance(value, str) and key not in _FIXED else value


def eventful(report: SessionReport, test: str) -> SessionReport:
    """One sweep of the report, on 32 replicas: with a strategy that it is held against, another revision's runs beside
    each, runs that were disturbed and repeated, and ranks with more windows than are drawn.
    """
    sweep = next(sweep for sweep in report.sweeps if sweep.test.endswith(test))
    arms = [_eventful(arm) for arm in sweep.arms]
    most = arms[-1]
    label = most.label.replace("8", "32")
    rival = replace(most, role="versus", label=f"{label} ps_async", strategy="ps_async", replicas=32)
    made: MeasuredSweep = replace(sweep, arms=(*arms[:-1], replace(most, label=label, replicas=32), rival))
    cases = []
    for case in report.cases:
        if case.test == sweep.test and case.judgement is not None:
            view = replace(case.judgement.view, before="origin/main")
            judgement = replace(case.judgement, view=view)
            cases.append(replace(case, judgement=judgement, replicas=32 if case.replicas == 8 else case.replicas))
    return replace(report, sweeps=(made,), cases=tuple(cases), against="origin/main (abc1234)")


def _eventful(arm: MeasuredArm) -> MeasuredArm:
    runs = tuple(
        replace(
            run,
            attempts=2 if run.round == 1 else 1,
            disturbances=("another program used 50 % of a core",) if run.round == 1 else (),
            tasks=tuple(replace(task, windows=task.windows * 20) for task in run.tasks),
        )
        for run in arm.runs
    )
    return replace(arm, runs=runs, against=tuple(replace(run, tasks=()) for run in arm.runs))
