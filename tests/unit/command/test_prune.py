"""`tfperf prune` against real suites, collected by a real pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.canned import COUNTS
from pytest_tfperf.baseline.reading import Reader
from tests.unit.command.made import stored, tfperf

Capture = pytest.CaptureFixture[str]

SUITE = """
import pytest

@pytest.mark.tfperf("mlp", strategy="multi_worker_mirrored", replicas=[1, 2, 4, 8], variant="canned0")
def test_canned(tfperf):
    tfperf.check()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Baselines canned0 and canned1 of four replica counts, and a suite that measures the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts sooner; ours is named
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "test_suite.py").write_text(SUITE)
    return stored(tmp_path)


def files(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("*/*")}


def test_a_baseline_that_no_test_names(root: Path, capsys: Capture) -> None:
    before = files(root)
    ran = tfperf(capsys, "prune", "--suite", "suite")
    assert ran.code == 0, ran.err
    assert "1 test in suite: they name 1 baseline\n" in ran.out
    assert "mlp-multi_worker_mirrored-canned1.yaml: would be removed, no test names it (20 sessions)\n" in ran.out
    assert "1 file of 2 baselines would be removed; --yes does it" in ran.out
    assert files(root) == before
    ran = tfperf(capsys, "prune", "--suite", "suite", "--yes")
    assert ran.code == 0
    assert "1 file of 2 baselines removed" in ran.out
    assert list(files(root)) == ["mlp-multi_worker_mirrored-canned0.yaml"]


def test_what_the_ini_file_leaves_out_is_part_of_the_suite(
    root: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    Path("pytest.ini").write_text("[pytest]\naddopts = -m 'not slow' -k canned -n 2\nmarkers = slow\n")
    Path("suite/test_more.py").write_text(
        SUITE.replace("@pytest", "@pytest.mark.slow\n@pytest", 1).replace("canned0", "canned1").replace("_canned", "_x")
    )
    ran = tfperf(capsys, "prune", "--suite", "suite")
    assert ran.code == 0, ran.err
    assert "nothing to remove among 2 baselines" in ran.out


def test_a_test_that_moved_to_gpus_has_no_use_for_cpu_baselines(root: Path, capsys: Capture) -> None:
    Path("suite/test_suite.py").write_text(SUITE.replace("@pytest", "@pytest.mark.gpu\n@pytest", 1))
    assert "2 files of 2 baselines would be removed" in tfperf(capsys, "prune", "--suite", "suite").out


def test_limits_set_by_hand_stay(root: Path, capsys: Capture) -> None:
    path = next(root.glob("*/*canned1.yaml"))
    path.write_text(path.read_text().replace("tolerance: null", "tolerance: 0.05  # noisy", 1))
    ran = tfperf(capsys, "prune", "--suite", "suite", "--yes")
    assert "20 sessions removed, no test names it; its limits that were set by hand stay" in ran.out
    file = Reader().anywhere(path)
    assert (file.limits[1].tolerance, dict(file.entries)) == (0.05, {})
    assert "# noisy" in path.read_text()
    ran = tfperf(capsys, "prune", "--suite", "suite", "--yes")
    assert "it has only limits that were set by hand; remove it yourself" in ran.out
    assert path.exists()


def test_old_sessions_go_and_the_newest_stays(root: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "prune", "--keep-sessions", "2")
    assert "12 sessions would be removed (3 of 1 replica, 3 of 2 replicas, 3 of 4 replicas" in ran.out
    ran = tfperf(capsys, "prune", root, "--keep-sessions", "2", "--yes")
    assert "24 sessions of 2 baselines removed; review it with git" in ran.out
    # All are of January 2026.
    ran = tfperf(capsys, "prune", "--older-than", "3", "--yes")
    assert "8 sessions of 2 baselines removed" in ran.out
    for path in root.glob("*/*.yaml"):
        entries = Reader().anywhere(path).entries
        assert [entries[count].provenance.date for count in COUNTS] == ["2026-01-05T01:00:00Z"] * 4
        assert {len(entry.sessions) for entry in entries.values()} == {1}
    assert "nothing to remove" in tfperf(capsys, "prune", "--older-than", "3").out


def test_an_age_that_no_session_has(root: Path, capsys: Capture) -> None:
    for days in ("36500", "620000", "999999999999"):
        assert "nothing to remove" in tfperf(capsys, "prune", "--older-than", days).out


def test_an_environments_folder(root: Path, capsys: Capture) -> None:
    (folder,) = root.iterdir()
    ran = tfperf(capsys, "prune", folder, "--suite", "suite", "--keep-sessions", "1", "--yes")
    assert ran.code == 0, ran.err
    assert "1 file and 16 sessions of 2 baselines removed" in ran.out


def test_a_broken_file_is_left_alone_and_said(root: Path, capsys: Capture) -> None:
    broken = next(root.glob("*/*canned0.yaml"))
    broken.write_text("schema_version: [")
    ran = tfperf(capsys, "prune", "--keep-sessions", "1", "--yes")
    assert ran.code == 3
    assert broken.name in ran.err
    assert "16 sessions of 2 baselines removed" in ran.out
    assert broken.read_text() == "schema_version: ["


def test_a_suite_that_cannot_be_collected_removes_nothing(root: Path, capsys: Capture) -> None:
    before = files(root)
    Path("suite/test_broken.py").write_text("import nothing_of_that_name\n")
    ran = tfperf(capsys, "prune", "--suite", "suite", "--yes")
    assert ran.code == 3
    assert "pytest could not collect the suite" in ran.err
    assert "nothing_of_that_name" in ran.err
    assert files(root) == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "say what is to be removed"),
        (["--yes"], 2, "say what is to be removed"),
        (["--keep-sessions", "0"], 2, "must be 1 or more"),
        (["--older-than", "soon"], 2, "whole number"),
        (["nowhere", "--keep-sessions", "1"], 3, "nowhere: there is no such file or folder"),
        (["suite/test_suite.py", "--keep-sessions", "1"], 3, "is no folder"),
        (["--suite", "nothing_there"], 2, "pytest does not take nothing_there"),
        (
            ["--suite", "suite", "baselines", "--yes"],
            2,
            "these are baselines, no tests; the folder to prune comes before",
        ),
        (["--suite", "empty"], 2, "no test in empty is marked tfperf, so every baseline would go"),
    ],
)
def test_what_is_asked_wrongly(root: Path, capsys: Capture, arguments: list[str], code: int, message: str) -> None:
    before = files(root)
    Path("empty").mkdir()
    Path("empty/test_plain.py").write_text("def test_nothing():\n    pass\n")
    ran = tfperf(capsys, "prune", *arguments)
    assert ran.code == code
    assert message in ran.err
    assert files(root) == before


def test_a_suite_may_have_yaml_files_beside_its_tests(root: Path, capsys: Capture) -> None:
    Path("more/data").mkdir(parents=True)
    Path("more/data/words.yaml").write_text("words: [a, b]\n")
    assert tfperf(capsys, "prune", "--suite", "suite", "more").code == 0


def test_an_empty_folder(tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "prune", tmp_path, "--keep-sessions", "1")
    assert (ran.code, ran.out) == (0, "nothing to remove among 0 baselines\n")
