"""Beside pytest-benchmark: its table, its JSON, its switches; and under xdist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gate.conftest import Gate


def test_every_arm_is_in_its_json_with_the_measured_step_times(fresh: Gate, tmp_path: Path) -> None:
    out = tmp_path / "benchmark.json"
    done = fresh.run("--tfperf-rounds=2", f"--benchmark-json={out}")
    assert done.returncode == 0, done.stdout
    entries = {entry["name"]: entry for entry in json.loads(out.read_text())["benchmarks"]}
    assert set(entries) == {"test_scales[T(1) single]", "test_scales[2]"}
    for entry in entries.values():
        assert entry["stats"]["rounds"] == 2
        assert 0 < entry["stats"]["min"] < 10
    arm = entries["test_scales[2]"]["extra_info"]
    assert arm["replicas"] == 2
    mean = entries["test_scales[2]"]["stats"]["mean"]
    assert 2 * 8 / arm["throughput_examples_per_second"] == pytest.approx(mean, rel=0.3)
    assert "test_scales[T(1) single]" in done.stdout


def test_a_reference_of_the_same_strategy_is_told_apart_by_its_options(fresh: Gate, tmp_path: Path) -> None:
    out = tmp_path / "benchmark.json"
    extra = ', steps_per_call=2, reference={"strategy": "multi_worker_mirrored", "steps_per_call": 1}'
    done = fresh.run("--tfperf-rounds=1", f"--benchmark-json={out}", extra=extra)
    assert done.returncode == 0, done.stdout
    names = {entry["name"] for entry in json.loads(out.read_text())["benchmarks"]}
    assert names == {"test_scales[T(1) multi_worker_mirrored steps_per_call=1]", "test_scales[2]"}


def test_benchmark_disable_is_a_smoke_run_that_judges_nothing(fresh: Gate) -> None:
    done = fresh.run("--benchmark-disable")
    assert done.returncode == 0, done.stdout
    assert "round 1/1" in done.stdout
    assert "inconclusive" in done.stdout


def test_benchmark_skip_skips(fresh: Gate) -> None:
    done = fresh.run("--benchmark-skip")
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout


def test_without_pytest_benchmark_the_gate_is_the_same(fresh: Gate) -> None:
    done = fresh.run("-p", "no:benchmark", "--tfperf-rounds=1")
    assert done.returncode == 0, done.stdout
    assert "no_baseline" in done.stdout


def test_xdist_workers_refuse_to_measure(fresh: Gate) -> None:
    done = fresh.run("-n", "2")
    assert done.returncode == 1
    assert "1 error" in done.stdout
    assert "tfperf does not measure in a pytest-xdist worker" in done.stdout
