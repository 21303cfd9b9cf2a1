"""`tfperf compare` judges real files: baselines, reports, and one of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.command.sides import read_side
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import read_json, to_json
from pytest_tfperf.report.measured import MeasuredRun
from tests.unit.command.made import measured, session, stored, tfperf, written

Capture = pytest.CaptureFixture[str]


def reports(tmp_path: Path, **speeds: float) -> tuple[Path, Path]:
    """Two nights; `speeds` of the second by replica count, as in T4=0.9."""
    by_label = {f"T({label[1:]})": speed for label, speed in speeds.items()}
    a = written(tmp_path / "a.json", measured(seed=1))
    return a, written(tmp_path / "b.json", measured(speeds=by_label, seed=2))


def test_two_nights_of_the_same_code(tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "compare", *reports(tmp_path))
    assert ran.code == 0, ran.out
    assert ran.out.rstrip().endswith("4 unchanged")
    assert "tolerance" not in ran.out  # no table where nothing changed
    assert len([line for line in ran.out.splitlines() if "variant canned0" in line]) == 4


def test_a_regression_has_the_table_of_a_gates_failure(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.9)
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 1
    assert ran.out.rstrip().endswith("3 unchanged, 1 regressed")
    title = next(line for line in ran.out.splitlines() if line.endswith("REGRESSED"))
    assert "mlp / multi_worker_mirrored / 4 CPU ranks" in title
    (row,) = [line for line in ran.out.splitlines() if line.lstrip().startswith("T(4)  examples/s")]
    assert "-10." in row
    assert "regressed, tolerance 3.0 %" in row
    assert "What moved: T(4) and E(4)." in ran.out
    assert "8 rounds of 2026-02-03T01:00:00Z, against 8 rounds of 1 session" in ran.out


def test_the_other_way_round_it_is_an_improvement(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.9)
    ran = tfperf(capsys, "compare", b, a)
    assert ran.code == 0
    assert ran.out.rstrip().endswith("1 improved, 3 unchanged")


def test_a_slower_reference_is_found_in_every_arm(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path)
    slow = measured(seed=3)
    reference = slow.sweeps[0].arms[0]
    runs = tuple(replace(run, throughput=0.8 * run.throughput) for run in reference.runs)
    arms = (replace(reference, runs=runs), *slow.sweeps[0].arms[1:])
    written(b, replace(slow, sweeps=(replace(slow.sweeps[0], arms=arms),)))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 1
    assert "4 regressed" in ran.out
    assert "What moved: T(1)." in ran.out


@pytest.mark.parametrize(("tolerance", "code"), [(0.2, 0), (0.01, 1), (None, 1)])
def test_an_arm_that_had_no_baseline_has_its_tests_tolerance(
    tmp_path: Path, capsys: Capture, tolerance: float | None, code: int
) -> None:
    """None, as in a report from before it was there: the session's default."""
    paths = reports(tmp_path, T4=0.9)
    for path in paths:
        report = read_json(path)
        judged = [(case, case.judgement) for case in report.cases]
        cases = [replace(c, judgement=j and replace(j, metrics=(), tolerance=tolerance)) for c, j in judged]
        written(path, replace(report, cases=tuple(cases)))
    assert tfperf(capsys, "compare", *paths).code == code


def test_the_tolerance_of_the_command_line_wins(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.9)
    assert tfperf(capsys, "compare", a, b, "--tolerance", "0.2").code == 0
    a, b = reports(tmp_path, T4=0.95)
    ran = tfperf(capsys, "compare", a, b, "--tolerance", "0.01")
    assert ran.code == 1
    assert "tolerance 1.0 %, of --tolerance" in ran.out


def test_a_report_against_a_baseline_and_back(tmp_path: Path, capsys: Capture) -> None:
    (baseline,) = stored(tmp_path, 4).glob("*/*.yaml")
    report = written(tmp_path / "b.json", measured(speeds={"T(8)": 0.85}, seed=2))
    ran = tfperf(capsys, "compare", baseline, report)
    assert ran.code == 1
    assert "Since the newest of 5 sessions, 2026-01-05" in ran.out
    assert "against 50 rounds of 5 sessions; tolerance 3.0 %, of B" in ran.out
    ran = tfperf(capsys, "compare", report, baseline)
    assert ran.code == 0
    assert "1 improved" in ran.out
    assert "10 rounds of 2026-01-05T01:00:00Z" in ran.out  # of the baseline, its newest session


def test_limits_set_by_hand_in_a(tmp_path: Path, capsys: Capture) -> None:
    (baseline,) = stored(tmp_path, 4).glob("*/*.yaml")
    report = written(tmp_path / "b.json", measured(speeds={"T(8)": 0.9}, seed=2))
    text = baseline.read_text()
    head, tail = text.split("  8:\n")
    wide = head + "  8:\n" + tail.replace("tolerance: null", "tolerance: 0.3", 1)
    baseline.write_text(wide)
    assert tfperf(capsys, "compare", baseline, report).code == 0
    baseline.write_text(wide.replace("efficiency_floor: null", "efficiency_floor: 0.95"))
    ran = tfperf(capsys, "compare", baseline, report)
    assert ran.code == 1
    assert "under its floor 0.950" in ran.out
    assert "set in A" in ran.out


def test_two_versions_of_a_baseline_wherever_they_lie(tmp_path: Path, capsys: Capture) -> None:
    # As git gives them: git show main:baselines/.../x.yaml > old
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    old = tmp_path / "old"
    old.write_bytes(path.read_bytes())
    ran = tfperf(capsys, "compare", old, path)
    # The newest session of B is in A too, and is not held against itself.
    assert ran.code == 0
    assert "against 40 rounds of 4 sessions" in tfperf(capsys, "compare", "-v", old, path).out


def test_the_same_runs_on_both_sides(tmp_path: Path, capsys: Capture) -> None:
    a, _ = reports(tmp_path)
    ran = tfperf(capsys, "compare", a, a)
    assert ran.code == 3
    assert ran.out.count("both hold the same runs") == 4
    assert "nothing could be compared" in ran.err


def test_what_cannot_be_compared_is_named_with_the_reason(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path)
    report = measured(seed=3)
    place = report.places["cpu"]
    written(b, replace(report, places={"cpu": replace(place, hard={**place.hard, "cpu_cores": 96})}))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 3
    assert f"another environment: cpu_cores was {place.hard['cpu_cores']}, is 96" in ran.out
    assert ran.out.rstrip().endswith("4 incomparable")
    sweep = report.sweeps[0]
    other = replace(sweep, definition={**sweep.definition, "workload.batch_size": 64})
    written(b, replace(report, sweeps=(other,)))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 3
    assert "A measured something else: workload.batch_size was 128, is 64" in ran.out


def test_arms_that_one_side_has(tmp_path: Path, capsys: Capture) -> None:
    a = written(tmp_path / "a.json", measured(seed=1))
    b = written(tmp_path / "b.json", measured(seed=2, arms=8))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 0
    assert "Only in B:\n  mlp-multi_worker_mirrored-canned1 at 1 replica (cpu)\n" in ran.out
    assert "Only in A" not in ran.out
    assert "Only in A:\n" in tfperf(capsys, "compare", b, a).out


def test_arms_without_a_result_are_named(tmp_path: Path, capsys: Capture) -> None:
    # In its eighth sweep a task dies.
    a = written(tmp_path / "a.json", measured(arms=32, seed=1))
    b = written(tmp_path / "b.json", session(32))
    ran = tfperf(capsys, "compare", a, b)
    assert "Without a result in B:\n  perf_tests/test_canned.py::test_canned7[8]: worker:3 died" in ran.out


def beside_others(report: SessionReport, replicas: int, rounds: Sequence[int], speed: float = 1.0) -> SessionReport:
    """The report with the runs of these rounds disturbed, and as much slower or faster for it."""
    sweep = report.sweeps[0]

    def run(run: MeasuredRun) -> MeasuredRun:
        if run.round not in rounds:
            return run
        return replace(run, disturbances=("others ran",), outside=True, throughput=speed * run.throughput)

    arms = tuple(
        replace(arm, runs=tuple(map(run, arm.runs))) if arm.replicas == replicas else arm for arm in sweep.arms
    )
    return replace(report, sweeps=(replace(sweep, arms=arms),))


def test_where_half_of_the_rounds_were_disturbed_nothing_is_decided(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.7)
    written(b, beside_others(measured(speeds={"T(4)": 0.7}, seed=3), 4, range(1, 5)))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 0
    assert "Disturbed: T(4), round 1: others ran." in ran.out
    assert "1 inconclusive" in ran.out


def test_a_loss_is_found_in_the_undisturbed_rounds(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.7)
    written(b, beside_others(measured(speeds={"T(4)": 0.7}, seed=3), 4, [1, 4]))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 1
    assert "Left out, disturbed: T(4), round 1: others ran." in ran.out
    assert "3 unchanged, 1 regressed" in ran.out
    assert "6 rounds (2 more left out) of" in ran.out


def test_what_a_disturbance_took_is_no_loss(tmp_path: Path, capsys: Capture) -> None:
    """On either side: A's rounds as slow would make B's an improvement."""
    a, b = reports(tmp_path)
    written(b, beside_others(measured(seed=3), 4, [2, 3, 7], speed=0.3))
    assert "4 unchanged" in tfperf(capsys, "compare", a, b).out
    ran = tfperf(capsys, "compare", b, a)
    assert "4 unchanged" in ran.out
    assert "Left out, disturbed: in A, T(4), round 2: others ran." in tfperf(capsys, "compare", "-v", b, a).out


def test_what_a_strategy_is_held_against_is_shown(tmp_path: Path, capsys: Capture) -> None:
    a, b = reports(tmp_path, T4=0.9)
    for path in (a, b):
        report = read_json(path)
        sweep = report.sweeps[0]
        four = next(arm for arm in sweep.arms if arm.replicas == 4)
        # Of the first round there is no run of it, so that round counts for neither.
        rival = replace(four, role="versus", strategy="ps_async", label="T(4) ps_async", runs=four.runs[1:])
        cases = tuple(
            replace(case, judgement=replace(case.judgement, versus="ps_async")) if case.judgement else case
            for case in report.cases
        )
        written(path, replace(report, cases=cases, sweeps=(replace(sweep, arms=(*sweep.arms, rival)),)))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 1
    (row,) = [line for line in ran.out.splitlines() if line.lstrip().startswith("S(4)")]
    assert row.split()[:4] == ["S(4)", "x", "ps_async", "1.000"]
    assert "7 rounds of 2026-02-03T01:00:00Z, against 7 rounds of 1 session" in ran.out


def test_runs_are_paired_by_round(tmp_path: Path) -> None:
    report = measured()
    sweep = report.sweeps[0]
    arms = tuple(
        replace(arm, runs=arm.runs[1:4]) if arm.replicas == 4 else replace(arm, runs=arm.runs[:3]) for arm in sweep.arms
    )
    path = written(tmp_path / "a.json", replace(report, sweeps=(replace(sweep, arms=arms),)))
    four = next(arm for arm in read_side(path).arms if arm.entry.replicas == 4)
    reference, own = sweep.arms[0], next(arm for arm in sweep.arms if arm.replicas == 4)
    assert four.newest.throughput == tuple(run.throughput for run in own.runs[1:3])
    assert four.newest.reference == tuple(run.throughput for run in reference.runs[1:3])


def damaged(report: SessionReport, change: Callable[[dict[str, Any]], object]) -> bytes:
    data = json.loads(to_json(report))
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["sweeps"][0]["arms"].pop(0),
        lambda data: data["places"].clear(),
        lambda data: data["sweeps"][0]["arms"][0]["runs"][0].update(throughput=0),
        lambda data: data["sweeps"][0]["arms"][1]["runs"][2].update(throughput=-5.0),
        lambda data: data["cases"][0].update(replicas=-1),
    ],
)
def test_a_report_that_was_damaged(tmp_path: Path, capsys: Capture, change: Callable[[dict[str, Any]], object]) -> None:
    report = measured()
    a = written(tmp_path / "a.json", report)
    b = tmp_path / "b.json"
    b.write_bytes(damaged(report, change))
    ran = tfperf(capsys, "compare", a, b)
    assert ran.code == 3
    assert f"{b}: the measurements of " in ran.err
    assert "are damaged" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.json", None, "cannot be read: No such file"),
        ("none.yaml", None, "there is no such file"),
        ("bad.json", b"{", "not JSON"),
        ("other.json", b'{"schema_version": 99, "cases": []}', "a newer pytest-tfperf wrote it"),
        ("foreign.json", b'{"benchmarks": []}', "not a report of pytest-tfperf"),
        ("list.json", b"[1]", "not a report of pytest-tfperf"),
        ("bad.yaml", b"schema_version: [", "bad.yaml"),
        ("foreign.yaml", b"a: 1\n", "foreign.yaml"),
        ("text", b"hello\n", "is neither a baseline nor a report that --tfperf-json wrote"),
        ("binary", b"\0\1\2", "is neither a baseline nor a report that --tfperf-json wrote"),
    ],
)
def test_what_is_neither(tmp_path: Path, capsys: Capture, name: str, content: bytes | None, message: str) -> None:
    a = written(tmp_path / "a.json", measured())
    b = tmp_path / name
    if content is not None:
        b.write_bytes(content)
    for pair in ((a, b), (b, a)):
        ran = tfperf(capsys, "compare", *pair)
        assert ran.code == 3
        assert message in ran.err
        assert str(b) in ran.err
        assert not ran.out


def test_a_folder_is_no_side(tmp_path: Path, capsys: Capture) -> None:
    a = written(tmp_path / "a.json", measured())
    ran = tfperf(capsys, "compare", a, tmp_path)
    assert ran.code == 3
    assert "is a folder; compare takes two files" in ran.err


def test_baselines_of_different_tests(tmp_path: Path, capsys: Capture) -> None:
    one, two = sorted(stored(tmp_path, 8).glob("*/*.yaml"))
    ran = tfperf(capsys, "compare", one, two)
    assert ran.code == 3
    assert "Only in A" in ran.out
    assert "Only in B" in ran.out


def test_gpu_and_cpu_of_one_name_are_two_arms(tmp_path: Path, capsys: Capture) -> None:
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    gpu = path.read_text().replace(
        "environment:\n", "environment:\n  gpu_count: 8\n  gpu_model: H100\n  gpu_interconnect: nv18\n"
    )
    other = tmp_path / "gpu.yaml"
    other.write_text(gpu)
    ran = tfperf(capsys, "compare", path, other)
    assert ran.code == 3
    assert "at 4 replicas (gpu)" in ran.out
    assert "at 4 replicas (cpu)" in ran.out


@pytest.mark.parametrize("tolerance", ["0", "1", "-0.1", "much", "nan"])
def test_a_tolerance_is_a_fraction(tmp_path: Path, capsys: Capture, tolerance: str) -> None:
    ran = tfperf(capsys, "compare", "a", "b", f"--tolerance={tolerance}")
    assert ran.code == 2
    assert "fraction" in ran.err


def test_what_was_slowed_on_purpose_says_so_on_either_side(tmp_path: Path, capsys: Capture) -> None:
    report = measured(seed=1)
    (sweep, *rest) = report.sweeps
    arms = tuple(replace(arm, slowdown=0.1 if arm.label == "T(4)" else 0.0) for arm in sweep.arms)
    slowed = written(tmp_path / "slowed.json", replace(report, sweeps=(replace(sweep, arms=arms), *rest)))
    other = written(tmp_path / "other.json", measured(seed=2))
    told = "The marker's slowdown makes steps longer on purpose: T(4) by 10 %."
    assert tfperf(capsys, "compare", other, slowed).out.count(f"B: {told}") == 1
    assert tfperf(capsys, "compare", slowed, other).out.count(f"A: {told}") == 1
    assert "on purpose" not in tfperf(capsys, "compare", other, other).out


def test_a_test_that_was_interrupted_says_so(tmp_path: Path, capsys: Capture) -> None:
    report = measured(seed=1, rounds=3)
    cases = tuple(replace(case, outcome="not run", judgement=None, text="") for case in report.cases)
    cut = written(tmp_path / "cut.json", replace(report, cases=cases))
    whole = written(tmp_path / "whole.json", measured(seed=2))
    for pair, name in (((cut, whole), "A"), ((whole, cut), "B")):
        out = tfperf(capsys, "compare", *pair).out
        assert out.count(f"{name}: Its session ended before this test did, after 3 whole rounds.") == 4
    assert "ended before this test" not in tfperf(capsys, "compare", whole, whole).out


def test_a_baseline_that_was_saved_by_force_says_so(tmp_path: Path, capsys: Capture) -> None:
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    report = written(tmp_path / "b.json", measured(seed=2))
    assert "by force" not in tfperf(capsys, "compare", path, report).out
    # The newest of the last count, and the oldest of the one before.
    lines = path.read_text().splitlines()
    tests = [number for number, line in enumerate(lines) if line.startswith("          test: ")]
    for number, why in ((tests[-1], "its test failed"), (tests[-10], "too noisy")):
        lines.insert(number + 1, f"          forced: {why}")
    path.write_text("\n".join(lines) + "\n")
    out = tfperf(capsys, "compare", path, report).out
    for date, why in (("2026-01-05", "its test failed"), ("2026-01-01", "too noisy")):
        assert out.count(f"A: 1 of 5 stored sessions was saved by force: that of {date}, although {why}.") == 1
    out = tfperf(capsys, "compare", report, path).out  # of a baseline B the newest session is judged, and no other
    assert out.count("by force") == 1
    assert "B: The stored session was saved by force: that of 2026-01-05, although its test failed." in out
    assert tfperf(capsys, "show", path).out.count("  5 (1 by force)  ") == 2
    found = json.loads(tfperf(capsys, "show", path, "--json").out)
    assert [(each["forced"], each["newest"]["forced"]) for each in found[-2:]] == [(1, ""), (1, "its test failed")]
