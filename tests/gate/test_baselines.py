"""Saving: only when asked, only what was measured, and what a person wrote stays."""

from __future__ import annotations

import re

from tests.gate.conftest import SUITE, Gate

TWO_COUNTS = """
import pytest

@pytest.mark.tfperf(
    "smallconv", strategy="multi_worker_mirrored", replicas=[1, 2], tolerance=0.9,
    batch_size=8, image_size=8, width=4{extra}
)
def test_scales(tfperf):
    tfperf.check()
"""


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


def test_too_few_rounds_are_not_saved_and_said_to_be_so(fresh: Gate) -> None:
    done = fresh.run("--tfperf-rounds=1", "--tfperf-save")
    assert done.returncode == 1, done.stdout
    assert "a baseline needs at least 3" in done.stdout
    assert fresh.baseline_files == []


def test_only_the_selected_count_is_saved_and_what_was_set_by_hand_stays(fresh: Gate) -> None:
    both = TWO_COUNTS.format(extra="")
    asked = ("--tfperf-strict", "--tfperf-require-baseline")
    first = fresh.run("--tfperf-rounds=3", "--tfperf-force-save", *asked, suite=both)
    assert first.returncode == 0, first.stdout
    assert first.stdout.count("measured noise (run to run ") == 2
    assert first.stdout.count("(first session)") == 2
    assert re.search(r"^tfperf: 1 sweep, about .*; a rough guess", first.stdout, re.MULTILINE)
    assert re.search(r"^took .*, expected ", first.stdout, re.MULTILINE)
    (file,) = fresh.baseline_files
    text = file.read_text()
    assert next(line for line in text.splitlines() if not line.startswith("#")) == "schema_version: 6"
    floor = "efficiency_floor: 0.001  # measured by hand, see the wiki"
    file.write_text(text.replace("efficiency_floor: null", floor))
    one_before = file.read_text().partition("  2:")[0]
    done = fresh.run("--tfperf-rounds=3", "--tfperf-force-save", "-k", "2", suite=both)
    assert done.returncode == 0, done.stdout
    # The file says what a run took, the first one apart, so nothing needs to be guessed.
    assert len(re.findall(r"^        first_run_seconds: \[.+, .+\]\n        run_seconds: ", text, re.MULTILINE)) == 2
    assert re.search(r"^tfperf: 1 sweep, about [0-9.]+ [a-z0-9 ]+$", done.stdout, re.MULTILINE)
    after = file.read_text()
    assert after.partition("  2:")[0] == one_before
    assert after.count(floor) == 2
    assert "test_scales[2]: " in done.stdout
    assert done.stdout.count("(joined 1 earlier session)") == 1
    assert one_before.count("        saved:") == 1
    assert after.count("        saved:") == 3
    done = fresh.run("--tfperf-rounds=1", "--tfperf-force-save", "--tfperf-keep-sessions=1", "-k", "2", suite=both)
    assert done.returncode == 0, done.stdout
    assert "(2 older sessions removed)" in done.stdout
    assert file.read_text().count("        saved:") == 2


def test_a_session_of_another_speed_replaces_the_earlier_one(slow: Gate) -> None:
    (file,) = slow.baseline_files
    before = file.read_text()
    done = slow.run("--tfperf-force-save", "--tfperf-rounds=5")
    assert done.returncode == 0, done.stdout
    assert "(replaced 1 earlier session: " in done.stdout
    assert " improved by " in done.stdout
    after = file.read_text()
    assert before.count("        saved:") == after.count("        saved:") == 1
    assert before != after


def test_what_is_saved_by_force_says_so_to_whoever_is_held_against_it(fresh: Gate) -> None:
    done = fresh.run("--tfperf-force-save", "--tfperf-rounds=3", extra=", slowdown={2: 1.5}")
    assert done.returncode == 0, done.stdout
    (file,) = fresh.baseline_files
    why = "its marker's slowdown makes steps longer on purpose (T(2) by 150 %)"
    assert f"          forced: '{why.replace(chr(39), 2 * chr(39))}'\n" in file.read_text()
    assert f"(first session), by force, although {why}\n" in done.stdout
    done = fresh.run("--tfperf-rounds=3")
    assert re.search(
        rf"The stored session was saved by force: that of 20[0-9-]+, although {re.escape(why)}\.", done.stdout
    )


def test_what_a_marker_slows_down_is_not_saved(fresh: Gate) -> None:
    done = fresh.run("--tfperf-save", "--tfperf-rounds=1", extra=", slowdown={2: 1.5}")
    assert done.returncode == 1, done.stdout
    why = "its marker's slowdown makes steps longer on purpose (T(2) by 150 %); take it away first"
    before, _, after = done.stdout.partition("round 1/1")
    assert f"[2] will not be saved: {why}" in before, "before minutes are spent"
    assert f"not saved: {why}" in after
    assert "::test_scales[2] - not saved: its marker's slowdown " in after
    assert "    The marker's slowdown makes steps longer on purpose: T(2) by 150 %." in done.stdout
    assert fresh.baseline_files == []


def test_a_baseline_of_another_test_is_not_replaced(saved: Gate) -> None:
    (file,) = saved.baseline_files
    before = file.read_text()
    suite = SUITE.format(extra=", width=5").replace("test_scales", "test_other")
    done = saved.run("--tfperf-save", "--tfperf-rounds=1", suite=suite)
    assert done.returncode == 1, done.stdout
    assert "is that of test_suite.py::test_scales, which measured something else; give one" in done.stdout
    assert file.read_text() == before
    # Nor at another replica count, which would take those of the first away.
    done = saved.run("--tfperf-save", "--tfperf-rounds=1", suite=suite.replace("replicas=[2]", "replicas=[1]"))
    assert done.returncode == 1, done.stdout
    assert "is that of test_suite.py::test_scales, which measured something else; give one" in done.stdout
    assert file.read_text() == before


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
