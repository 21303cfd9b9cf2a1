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
