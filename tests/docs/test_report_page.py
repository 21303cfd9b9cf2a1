"""The page about reports names the properties that a JUnit file has."""

from __future__ import annotations

import re

from pytest_tfperf.report.junit import identity_properties, judgement_properties
from tests.docs.ci_files import DOCS
from tests.unit.canned import judged
from tests.unit.report.test_junit import judgement

SECTION = (DOCS / "report.md").read_text().partition("## JUnit")[2]


def test_every_property_is_on_the_page() -> None:
    whole = judgement(judged(four=17940, floor=0.85, versus=10000, speedup_floor=2.5))
    pairs = (*identity_properties("mlp", "single", 1, "cpu", "x"), *judgement_properties(whole, "here"))
    names = {re.sub("_(low|high)$", "", name) for name, _ in pairs}
    table = "\n".join(line for line in SECTION.splitlines() if line.startswith("|"))
    told = set(re.findall(r"`(tfperf_\w+)`", table))
    assert {name.replace("speedup_floor", "efficiency_floor") for name in names} == told
