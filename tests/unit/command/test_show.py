"""What `tfperf show` prints of real baseline files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.baseline.reading import Reader
from pytest_tfperf.comparison.effect import stored_figures
from tests.unit.command.made import stored, tfperf

OURS = Path(__file__).parents[3] / "baselines"


def test_a_table_for_each_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = stored(tmp_path)
    ran = tfperf(capsys, "show", root, OURS)
    assert ran.code == 0
    lines = ran.out.splitlines()
    header = next(line for line in lines if "workload" in line)
    for column in (
        "strategy",
        "variant",
        "T(1) examples/s",
        "E(N)",
        "floor",
        "tolerance",
        "sessions",
        "newest",
        "commit",
    ):
        assert column in header
    row = next(line for line in lines if "canned1" in line and " 4 " in line)
    assert row.split()[:4] == ["mlp", "multi_worker_mirrored", "canned1", "4"]
    assert row.split()[-3:] == ["5", "2026-01-05", "a1b2c3d"]
    assert "0.87" in row
    assert any(line.startswith("cpu-") for line in lines)
    # Where T(N) is T(1), E(N) says nothing.
    alone = next(line for line in lines if line.split()[:2] == ["smallconv", "single"])
    assert alone.count("+-") == 2


def test_limits_that_were_set_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    path.write_text(path.read_text().replace("efficiency_floor: null", "efficiency_floor: 0.85", 1))
    path.write_text(path.read_text().replace("tolerance: null", "tolerance: 0.05", 1))
    ran = tfperf(capsys, "show", path)
    row = next(line for line in ran.out.splitlines() if " 1 " in line)
    assert row.split()[-6:] == ["0.850", "5.0", "%", "5", "2026-01-05", "a1b2c3d"]


def test_a_replica_count_that_has_limits_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    path.write_text(path.read_text() + "  16:\n    efficiency_floor: 0.7\n    tolerance: null\n")
    ran = tfperf(capsys, "show", path)
    assert ran.code == 0
    assert "no runs" in next(line for line in ran.out.splitlines() if " 16 " in line)
    (found,) = [each for each in json.loads(tfperf(capsys, "show", "--json", path).out) if each["replicas"] == 16]
    assert (found["efficiency_floor"], found["sessions"]) == (0.7, 0)


def test_json_has_the_figures_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    found = json.loads(tfperf(capsys, "show", "--json", path).out)
    assert [each["replicas"] for each in found] == [1, 2, 4, 8]
    entry = Reader().anywhere(path).entries[4]
    figures = stored_figures(entry)
    assert found[2]["throughput"]["value"] == figures.throughput.value
    assert found[2]["throughput"]["low"] < figures.throughput.value < found[2]["throughput"]["high"]
    assert found[2]["efficiency"]["runs"] == 50
    assert found[2]["newest"]["date"] == "2026-01-05T01:00:00Z"
    assert found[2]["file"] == str(path)


def test_figures_are_means_of_sessions_as_a_gate_shows_them(tmp_path: Path) -> None:
    # Two sessions of unlike length weigh the same.
    (path,) = stored(tmp_path, 4).glob("*/*.yaml")
    entry = Reader().anywhere(path).entries[2]
    one, two = entry.sessions[0], entry.sessions[1]
    short = replace(
        one,
        throughput=(100.0,),
        step_time=(1.0,),
        reference_throughput=(100.0,),
        reference_step_time=(1.0,),
    )
    even = replace(two, throughput=(400.0,) * 9, reference_throughput=(400.0,) * 9)
    figures = stored_figures(replace(entry, sessions=(short, even)))
    assert figures.throughput.value == pytest.approx(200.0)


def test_one_broken_file_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = stored(tmp_path)
    broken, fine = sorted(root.glob("*/*.yaml"))
    broken.write_text("schema_version: [")
    ran = tfperf(capsys, "show", root)
    assert ran.code == 3
    assert str(broken) in ran.err
    assert "canned1" in ran.out
    assert fine.exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is no such file or folder"),
        (lambda path: path.mkdir(), "no baselines in this folder"),
        (lambda path: path.write_bytes(b"\xff\0"), "binary file"),
        (lambda path: path.write_text("- a\n- b\n"), "there"),
        (lambda path: path.write_text('{"schema_version": 1, "cases": []}'), "is JSON and no baseline"),
    ],
)
def test_what_is_no_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "there"
    make(path)
    ran = tfperf(capsys, "show", path)
    assert ran.code == 3
    assert message in ran.err
    assert str(path) in ran.err


def test_the_default_is_the_folder_baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tfperf(capsys, "show").code == 3
    stored(tmp_path)
    assert tfperf(capsys, "show").code == 0
