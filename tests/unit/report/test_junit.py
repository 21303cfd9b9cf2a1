"""Properties of a JUnit file: names, and numbers that a program can plot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.judgement import judgement as make
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.report.document import Judgement
from pytest_tfperf.report.junit import identity_properties, judgement_properties
from tests.unit.canned import judged
from tests.unit.report.test_text import view_of


def judgement(verdict: ArmVerdict) -> Judgement:
    return make(verdict, view_of(verdict), ())


def properties(verdict: ArmVerdict) -> dict[str, str]:
    found = judgement_properties(judgement(verdict), "4x-nvidia-h100")
    assert len(dict(found)) == len(found)
    return dict(found)


def test_a_regression() -> None:
    found = properties(judged(four=17940, floor=0.85))
    assert found["tfperf_verdict"] == "regressed"
    assert found["tfperf_environment"] == "4x-nvidia-h100"
    assert float(found["tfperf_throughput"]) == pytest.approx(17940, rel=0.001)
    assert float(found["tfperf_reference_throughput"]) == pytest.approx(5700, rel=0.001)
    assert float(found["tfperf_efficiency"]) == pytest.approx(17940 / 4 / 5700, rel=0.001)
    assert float(found["tfperf_step_time_seconds"]) == pytest.approx(1024 / 17940, rel=0.001)
    assert float(found["tfperf_change"]) == pytest.approx(17940 / 20500 - 1, abs=0.001)
    assert float(found["tfperf_reference_change"]) == pytest.approx(0, abs=0.001)
    assert float(found["tfperf_efficiency_change"]) == pytest.approx(17940 / 20500 - 1, abs=0.001)
    assert found["tfperf_efficiency_floor"] == "0.85"
    assert found["tfperf_efficiency_floor_met"] == "no"
    assert found["tfperf_runs"] == "5"
    for name in ("throughput", "efficiency", "step_time_seconds", "change", "reference_change"):
        low, value, high = (float(found[f"tfperf_{name}{end}"]) for end in ("_low", "", "_high"))
        assert low < value < high


def test_numbers_are_plain_decimals() -> None:
    texts = ("tfperf_verdict", "tfperf_environment", "tfperf_versus", "tfperf_speedup_floor_met")
    found = properties(judged(versus=10000, speedup_floor=2.5))
    assert float(found["tfperf_speedup"]) == pytest.approx(2.05, rel=0.01)
    assert found["tfperf_versus"] == "mirrored"
    assert found["tfperf_speedup_floor_met"] == "no"
    numbers = {name: value for name, value in found.items() if name not in texts}
    assert len(numbers) > 15
    assert [name for name, value in numbers.items() if not re.fullmatch(r"-?\d+(\.\d+)?", value)] == []


def test_without_a_baseline_there_is_no_change() -> None:
    found = properties(judged(missing="none here"))
    assert found["tfperf_verdict"] == "no_baseline"
    assert "tfperf_throughput" in found
    assert not [name for name in found if "change" in name or "floor" in name]


def test_one_run_has_no_interval() -> None:
    found = properties(judged(noise=(1.0,)))
    assert "tfperf_throughput" in found
    assert not [name for name in found if name.endswith(("_low", "_high"))]


def test_an_arm_that_is_its_own_reference_has_the_change_of_its_throughput(tmp_path: Path) -> None:
    judgement = next(case.judgement for case in canned_report(tmp_path, 4).cases)
    assert judgement is not None
    alone = Judgement(**{**vars(judgement), "metrics": judgement.metrics[:1]})
    found = dict(judgement_properties(alone, "here"))
    assert found["tfperf_change"] == found["tfperf_reference_change"]
    assert "tfperf_efficiency_change" not in found


def test_what_is_measured_is_known_before() -> None:
    found = dict(identity_properties("mlp", "ps_sync", 4, "gpu", "small"))
    assert found == {
        "tfperf_workload": "mlp",
        "tfperf_strategy": "ps_sync",
        "tfperf_replicas": "4",
        "tfperf_device": "gpu",
        "tfperf_variant": "small",
    }
    assert "tfperf_variant" not in dict(identity_properties("mlp", "ps_sync", 4, "gpu"))
