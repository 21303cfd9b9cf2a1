"""Saving: only when asked, only what was measured, and what a person wrote stays."""

from __future__ import annotations

from tests.gate.conftest import Gate

TWO_COUNTS = """
import pytest

@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[1, 2], batch_size=8, tolerance=0.9{extra})
def test_scales(tfperf):
    tfperf.check()
"""


def test_a_plain_run_writes_nothing_and_says_that_there_is_no_baseline(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1")
    assert done.returncode == 0, done.stdout
    assert fresh.baseline_files == []
    assert "no_baseline" in done.stdout


def test_require_baseline_fails_without_one(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1", "--tfperf-require-baseline")
    assert done.returncode == 1, done.stdout
    assert "No baseline of smallconv-multi_worker_mirrored at 2 replicas for cpu-" in done.stdout
    assert "--tfperf-save stores one" in done.stdout


def test_too_few_rounds_are_not_saved_and_said_to_be_so(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1", "--tfperf-save")
    assert done.returncode == 1, done.stdout
    assert "a baseline needs at least 3" in done.stdout
    assert fresh.baseline_files == []


def test_only_the_selected_count_is_saved_and_what_was_set_by_hand_stays(fresh: Gate) -> None:
    both = TWO_COUNTS.format(extra="")
    assert fresh.run("--tfperf-rounds=3", "--tfperf-force-save", suite=both).returncode == 0
    (file,) = fresh.baseline_files
    text = file.read_text()
    assert next(line for line in text.splitlines() if not line.startswith("#")) == "schema_version: 1"
    floor = "efficiency_floor: 0.001  # measured by hand, see the wiki"
    file.write_text(text.replace("efficiency_floor: null", floor))
    one_before = file.read_text().partition("  2:")[0]
    done = fresh.run("--tfperf-rounds=3", "--tfperf-force-save", "-k", "2", suite=both)
    assert done.returncode == 0, done.stdout
    after = file.read_text()
    assert after.partition("  2:")[0] == one_before
    assert after.count(floor) == 2
    assert after != one_before


def test_a_floor_set_by_hand_in_the_file_wins(saved: Gate) -> None:
    (file,) = saved.baseline_files
    text = file.read_text()
    try:
        file.write_text(text.replace("efficiency_floor: null", "efficiency_floor: 1.9"))
        done = saved.run("--tfperf-rounds=3")
    finally:
        file.write_text(text)
    assert done.returncode == 1, done.stdout
    assert "is under its floor 1.900 (set in the baseline file)" in done.stdout


def test_a_broken_baseline_is_one_clear_error(saved: Gate) -> None:
    (file,) = saved.baseline_files
    text = file.read_text()
    try:
        file.write_text("<<<<<<< HEAD\n" + text)
        done = saved.run("--tfperf-rounds=1")
    finally:
        file.write_text(text)
    assert done.returncode == 1
    assert file.name in done.stdout
    assert "1 error" in done.stdout
    assert "Traceback" not in done.stdout


def test_another_definition_is_incomparable(saved: Gate) -> None:
    done = saved.run("--tfperf-rounds=1", extra=", classes=7")
    assert done.returncode == 0, done.stdout
    assert "incomparable" in done.stdout
