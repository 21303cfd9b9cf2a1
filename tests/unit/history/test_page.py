"""The page: complete, self-contained, and nothing in it is taken for markup that is not."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

from pytest_tfperf.history.page import PageHead, to_page
from pytest_tfperf.history.words import ArmText, arm_text
from tests.unit.history.test_changes import TODAY, acknowledged, arm, found, step

EVIL = "<script>alert('x')</script></script><!-- \"&"


def arms(name: str = "t.py::t", reason: str = "known") -> list[ArmText]:
    history = arm(own=step(360, 342))
    history = replace(history, key=replace(history.key, test=name))
    known = [replace(acknowledged(change), reason=reason) for change in found(history)[0].changes]
    return [arm_text(trend, TODAY) for trend in found(history, known=known)]


def page(texts: list[ArmText], source: str = "perf.db") -> str:
    return to_page(texts, PageHead(source, TODAY, "1 arm"))


def test_it_has_every_arm_change_and_night() -> None:
    made = page(arms())
    data = json.loads(re.findall(r'id="history-data">(.*?)</script>', made, re.DOTALL)[0])
    assert [chart["label"] for chart in data] == ["T(1)", "T(4)", "E(4)"]
    assert made.count('class="chart"') == 3
    assert [len(chart["nights"]) for chart in data] == [40, 40, 40]
    assert [len(chart["levels"]) for chart in data] == [1, 2, 2]
    assert data[1]["changes"] == [
        {"date": "2026-09-21", "state": "acknowledged", "text": "-4.9 %, worse, acknowledged"}
    ]
    assert made.count('<tr><th scope="row">2026-') == 40
    assert "until 2026-11-30: known (ada, 2026-10-15)" in made


def test_nothing_is_taken_for_markup() -> None:
    made = page(arms(name=EVIL, reason=EVIL), source=EVIL)
    assert "<script>alert" not in made
    assert made.lower().count("<script") == 3 + _in_libraries("<script")
    assert made.lower().count("</script") == 3
    assert "&lt;script&gt;alert" in made


def test_it_asks_for_nothing_and_runs_only_its_own() -> None:
    made = page(arms())
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', made)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", made, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#|data:,)", markup)
    assert " on" not in re.sub(r">[^<]*<", "><", markup).replace(" content", "")


def test_without_arms() -> None:
    assert "No arm that was asked for" in page([])


def _in_libraries(text: str) -> int:
    from pytest_tfperf.report.html.assets import charts

    return charts().lower().count(text)
