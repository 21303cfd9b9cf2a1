"""What is held against a baseline, or has none: what a person wrote into the file counts, and nothing is written."""

from __future__ import annotations

from tests.gate.conftest import Gate


def test_a_plain_run_writes_nothing_and_says_that_there_is_no_baseline(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1")
    assert done.returncode == 0, done.stdout
    assert fresh.baseline_files == []
    assert "no_baseline" in done.stdout
    assert "--tfperf-strict would fail 1 no_baseline" in done.stdout


def test_strict_fails_what_is_not_decided_and_says_that_it_is_why(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1", "--tfperf-strict")
    assert done.returncode == 1, done.stdout
    assert "--tfperf-strict is on: it fails a test for what is not decided, here no_baseline." in done.stdout
    assert "--tfperf-strict would fail" not in done.stdout


def test_require_baseline_fails_without_one(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1", "--tfperf-require-baseline")
    assert done.returncode == 1, done.stdout
    assert "No baseline of steady-multi_worker_mirrored at 2 replicas for cpu-" in done.stdout
    assert "--tfperf-save stores one" in done.stdout


def test_a_floor_set_by_hand_in_the_file_wins(saved: Gate) -> None:
    (file,) = saved.baseline_files
    text = file.read_text()
    try:
        file.write_text(text.replace("efficiency_floor: null", "efficiency_floor: 1.9"))
        done = saved.run(extra=", slowdown={2: 3.0}")
    finally:
        file.write_text(text)
    assert done.returncode == 1, done.stdout
    assert "is under its floor 1.900 (set in the baseline file)" in done.stdout


def test_a_floor_that_is_missed_without_a_loss_is_told_as_such(saved: Gate) -> None:
    done = saved.run(extra=", min_efficiency=1.9")
    assert done.returncode == 1, done.stdout
    assert "rounds: T(2) under its floor" in done.stdout
    assert "is under its floor 1.900 (set in the test)" in done.stdout


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
    assert "round 1" not in done.stdout, "it is told before minutes are spent"


def test_another_definition_is_incomparable(saved: Gate) -> None:
    done = saved.run("--tfperf-rounds=50", "--tfperf-max-time=1", extra=", width=5")
    assert done.returncode == 0, done.stdout
    assert "1 incomparable" in done.stdout
    what = "workload.width was 4, is 5; --tfperf-save replaces it, and variant='...' in the marker keeps both."
    assert f"    The baseline measured something else: {what}" in done.stdout
    before, _, _ = done.stdout.partition("round 1/")
    assert f"cannot be compared: the baseline measured something else: {what.rstrip('.')}\n" in before
    # Without a baseline all rounds would be measured, if there were time.
    assert "no time for more than 2 of 50 rounds" in done.stdout
