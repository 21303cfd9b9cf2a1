"""Reports whose every free text tries to be something else than text."""

from __future__ import annotations

import json
from typing import Any

from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import from_json, to_json

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
