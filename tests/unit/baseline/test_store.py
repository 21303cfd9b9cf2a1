"""The store: where files are, what a save keeps, replaces and drops, and how it writes."""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from pytest_tfperf import files
from pytest_tfperf.baseline import store
from pytest_tfperf.baseline.reading import HEADER
from pytest_tfperf.baseline.schema import Limits
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment
from tests.unit.baseline.entries import ENVIRONMENT, FOLDER, HARD, annotate, edit, make_entry, make_session, path_of


def test_first_save_writes_this_file(tmp_path: Path) -> None:
    saved = BaselineStore(tmp_path).save([make_entry()])
    assert [file.path for file in saved] == [path_of(tmp_path)]
    assert str(saved[0]) == f"{path_of(tmp_path)} (first session)"
    assert path_of(tmp_path).read_text() == (
        HEADER
        + """
schema_version: 6
workload: mlp
strategy: ps_async
variant: null
definition:
  scaling: weak
  workload.batch: 32
  workload.rate: 1.0e-05
  workload.xla: false
environment:
  cpu_cores: 2
  cpu_model: AMD EPYC
  hosts: 1
units:
  throughput: examples/s
  step_time: s
  efficiency: 1
replicas:
  2:
    efficiency_floor: null
    tolerance: null
    sessions:
      '2026-11-27T22:36:48Z':
        saved:
          commit: a1b2c3d
          dirty: false
          test: perf_tests/test_a.py::test_a
        soft:
          python: '3.10'
          tensorflow: '2.21.0'
        runs:
          reference_throughput: [1000.12, 1010, 990.5]
          reference_step_time: [0.032, 0.0317, 0.0323]
          throughput: [1800, 1850, 1790.25]
          step_time: [0.0355, 0.0346, 0.0357512]
    derived:
      reference_throughput: 1000.17
      reference_throughput_run_cv_percent: 0.975
      reference_throughput_session_cv_percent: null
      reference_step_time: 0.0319991
      throughput: 1813.23
      throughput_run_cv_percent: 1.77
      throughput_session_cv_percent: null
      step_time: 0.0352803
      efficiency: 0.906456
      efficiency_run_cv_percent: 0.919
      efficiency_session_cv_percent: null
"""
    )


def test_find_gives_back_what_was_saved(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    entry = make_entry(floor=0.85, tolerance=0.03, variant="small")
    baselines.save([entry])
    found = baselines.find(ENVIRONMENT, "mlp-ps_async-small", 2)
    session = make_session(reference_throughput=(1000.12, 1010.0, 990.5), step_time=(0.0355, 0.0346, 0.0357512))
    assert found == dataclasses.replace(entry, sessions=(session,))
    assert all(type(value) is float for value in found.latest.throughput)


def test_find_without_a_baseline_is_none_and_writes_nothing(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path / "absent")
    assert baselines.find(ENVIRONMENT, "mlp-ps_async", 2) is None
    assert baselines.limits(ENVIRONMENT, "mlp-ps_async", 2) == Limits()
    assert baselines.environments("mlp-ps_async") == []
    assert list(tmp_path.iterdir()) == []
    BaselineStore(tmp_path).save([make_entry()])
    before = path_of(tmp_path).stat().st_mtime_ns
    assert BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 3) is None
    assert path_of(tmp_path).stat().st_mtime_ns == before


def test_environments(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    other: dict[str, str | int] = {**HARD, "cpu_cores": 64}
    baselines.save([make_entry(), make_entry(hard=other), make_entry(hard=other, workload="cnn")])
    (tmp_path / "empty").mkdir()
    (tmp_path / "README.md").write_text("about these")
    assert baselines.environments("mlp-ps_async") == [FOLDER, "cpu-amd-epyc-64-cores"]
    assert baselines.environments("cnn-ps_async") == ["cpu-amd-epyc-64-cores"]
    assert baselines.environments("rnn-ps_async") == []


def test_saving_the_same_again_changes_no_byte_and_does_not_write(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    entries = [make_entry(4), make_entry(2)]
    baselines.save(entries)
    before = path_of(tmp_path).read_bytes(), path_of(tmp_path).stat().st_ino
    [saved] = baselines.save(entries)
    assert saved.note == "4 replicas: stored already; 2 replicas: stored already"
    assert (path_of(tmp_path).read_bytes(), path_of(tmp_path).stat().st_ino) == before


def test_comments_and_hand_set_limits_survive_a_save(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(2), make_entry(4)])
    path = path_of(tmp_path)
    annotate(path, HEADER)
    before = path.read_text()
    baselines.save([make_entry(2), make_entry(4)])
    assert path.read_text() == before
    baselines.save([make_entry(4, throughput=(3700.0, 3710.0, 3720.5), date="2026-11-28T22:36:48Z", floor=0.1)])
    after = path.read_text()
    start, stop = after.index("      '2026-11-28T22:36:48Z':\n"), after.rindex("    derived:\n")
    assert [line for line in (after[:start] + after[stop:]).splitlines() if "_percent" not in line][:-9] == [
        line for line in before.splitlines() if "_percent" not in line
    ][:-9]
    assert all(
        after.count(comment) == 1 for comment in ("# pinned", "# end of two", "# the job", "# noisy", "# the end")
    )
    assert baselines.limits(ENVIRONMENT, "mlp-ps_async", 2) == Limits(0.8, None)
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 4)
    assert found is not None
    assert (found.floor, found.tolerance) == (None, 0.05)


def test_a_new_replica_count_goes_between_with_its_neighbours_comments_in_place(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(2), make_entry(4)])
    annotate(path_of(tmp_path), HEADER)
    before = path_of(tmp_path).read_text().splitlines()
    baselines.save([make_entry(3)])
    after = path_of(tmp_path).read_text().splitlines()
    start = after.index("  3:")
    assert after[start - 1] == "    # end of two"
    rest = after[start + 1 :]
    stop = rest.index("") + start + 1
    assert after[stop : stop + 3] == ["", "  # four replicas, see #17", "  4:"]
    assert after[:start] + after[stop:] == before


def test_comments_of_vanished_keys_move_up_and_are_not_lost(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(2)])
    edit(path_of(tmp_path), "tensorflow: '2.21.0'\n", "tensorflow: '2.21.0'  # pinned\n          # below it\n")
    edit(
        path_of(tmp_path), "[1000.12, 1010, 990.5]", "\n          - 1000.12\n          - 1010\n          - 990.5 # odd"
    )
    edit(path_of(tmp_path), "      '2026", "      # the first night\n\n      '2026")
    before = path_of(tmp_path).read_text()
    baselines.save([make_entry(2)])
    assert "          reference_throughput: [1000.12, 1010, 990.5] # odd\n" in path_of(tmp_path).read_text()
    [saved] = baselines.save([make_entry(2, date="2026-11-28T22:36:48Z", soft={"python": "3.12"})], keep=1)
    assert saved.note == "1 older session removed"
    text = path_of(tmp_path).read_text()
    assert "    # the first night\n    # pinned\n    # below it\n    # odd\n    sessions:\n" in text
    assert before.count("#") == text.count("#")


def test_a_changed_definition_drops_the_other_measurements_but_not_their_limits(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(2), make_entry(4), make_entry(8)])
    annotate(path_of(tmp_path), HEADER)
    new = {**make_entry().definition, "workload.batch": 64}
    [saved] = baselines.save([make_entry(8, definition=new)])
    assert "workload.batch 32 -> 64" in saved.note
    assert "removed: 2, 4" in saved.note
    for count in (2, 4):
        assert baselines.find(ENVIRONMENT, "mlp-ps_async", count) is None
    assert baselines.limits(ENVIRONMENT, "mlp-ps_async", 2) == Limits(0.8, None)
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 8)
    assert found is not None
    assert found.definition == new
    text = path_of(tmp_path).read_text()
    assert (
        "# four replicas, see #17\n  # the job\n  4:\n    efficiency_floor: null\n    tolerance: 5e-2 # noisy\n" in text
    )
    for comment in ("# two replicas", "# pinned", "# end of two", "# the job", "# the end"):
        assert text.count(comment) == 1
    # measured again, the limits are in force
    baselines.save([make_entry(2, definition=new)])
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert found.floor == 0.8


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([make_entry(2), make_entry(2)], "given twice"),
        ([make_entry(2), make_entry(4, definition={"a": 1})], "disagree on their definition"),
        ([make_entry(2, throughput=())], r"throughput is \[\], not a list"),
        ([make_entry(2, throughput=(1.0,))], "one value per round"),
        ([make_entry(2, throughput=(1.0, 2.0, float("nan")))], "nan is not a finite"),
        ([make_entry(2, step_time=(1.0, 2.0, float("inf")))], "is not a finite"),
        ([make_entry(2, throughput=(1.0, 0.0, 1.0))], "is 0; only values"),
        ([make_entry(2, throughput=(1.0, -1.0, 1.0))], "is -1; only values"),
        ([make_entry(2, throughput=(1.0, 1e15, 1.0))], "only values"),
        ([make_entry(2, reference_throughput=(1.0, 0.0, 1.0))], "is 0; only values"),
        ([make_entry(0)], "not a replica count"),
        ([make_entry(2, floor=85.0)], "write a fraction"),
        ([make_entry(2, definition={"a": float("nan")})], "finite"),
        ([make_entry(2, workload="../../etc")], "cannot be used"),
        ([make_entry(2, workload="a/b")], "cannot be used"),
        ([make_entry(2, hard={})], "no key cpu_model"),
        ([make_entry(2, date="yesterday")], "the new session's date is 'yesterday'.*Nothing was written"),
    ],
)
def test_a_measurement_that_cannot_be_stored_is_refused(
    tmp_path: Path, entries: list[BaselineEntry], message: str
) -> None:
    with pytest.raises(BaselineError, match=message):
        BaselineStore(tmp_path).save(entries)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_one_of_the_files_is_broken(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(workload="zzz")])
    path_of(tmp_path, "zzz-ps_async").write_text("schema_version: 99\n")
    with pytest.raises(BaselineError, match=r"line 1: schema_version is 99.*Update pytest-tfperf"):
        baselines.save([make_entry(), make_entry(workload="zzz")])
    assert not path_of(tmp_path).exists()
    assert path_of(tmp_path, "zzz-ps_async").read_text() == "schema_version: 99\n"


def test_another_machine_with_the_same_folder_name_is_neither_overwritten_nor_compared(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry()])
    twin = Environment({**HARD, "hosts": 2}, {})
    assert twin.name == ENVIRONMENT.name
    with pytest.raises(BaselineError, match="hosts is 1 there and 2 here"):
        baselines.save([make_entry(hard=twin.hard)])
    with pytest.raises(BaselineError, match="hosts is 1 there and 2 here"):
        baselines.find(twin, "mlp-ps_async", 2)


def test_two_names_that_join_to_one_are_not_mixed(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(variant="x")])
    with pytest.raises(BaselineError, match="makes the same file name"):
        baselines.save([make_entry(strategy="ps_async-x", variant=None)])


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o644)])
def test_file_mode(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        BaselineStore(tmp_path).save([make_entry()])
        path = path_of(tmp_path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.chmod(0o664)
        BaselineStore(tmp_path).save([make_entry(4)])
        assert stat.S_IMODE(path.stat().st_mode) == 0o664
    finally:
        os.umask(before)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry()])
    before = path_of(tmp_path).read_bytes()

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(BaselineError, match="cannot be written: No space left"):
        baselines.save([make_entry(4)])
    assert path_of(tmp_path).read_bytes() == before
    assert os.listdir(tmp_path / FOLDER) == ["mlp-ps_async.yaml"]


def test_leftovers_of_a_killed_session_go(tmp_path: Path) -> None:
    BaselineStore(tmp_path).save([make_entry()])
    (tmp_path / FOLDER / ".mlp-ps_async.yaml.123-abcd.tmp").write_text("half")
    BaselineStore(tmp_path).save([make_entry(4)])
    assert os.listdir(tmp_path / FOLDER) == ["mlp-ps_async.yaml"]


def test_a_lock_that_never_comes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked_folder = files.locked_folder
    monkeypatch.setattr(store, "locked_folder", lambda folder: locked_folder(folder, 0.05))
    with locked_folder(tmp_path / FOLDER), pytest.raises(BaselineError, match="another session has been saving"):
        BaselineStore(tmp_path).save([make_entry()])


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    BaselineStore(outside).save([make_entry()])
    before = path_of(outside).read_bytes()
    root.mkdir()
    (root / FOLDER).symlink_to(outside / FOLDER)
    for attempt in (
        lambda: BaselineStore(root).save([make_entry(4)]),
        lambda: BaselineStore(root).find(ENVIRONMENT, "mlp-ps_async", 2),
        lambda: BaselineStore(root).environments("mlp-ps_async"),
    ):
        with pytest.raises(BaselineError, match="leads out of"):
            attempt()
    (root / FOLDER).unlink()
    (root / FOLDER).mkdir()
    path_of(root).symlink_to(path_of(outside))
    with pytest.raises(BaselineError, match="leads out of"):
        BaselineStore(root).save([make_entry(4)])
    assert path_of(outside).read_bytes() == before
    path_of(root).unlink()
    path_of(root).symlink_to(path_of(root))
    with pytest.raises(BaselineError):
        BaselineStore(root).find(ENVIRONMENT, "mlp-ps_async", 2)


def test_the_root_itself_may_be_a_link_and_a_file_one_within_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    root = tmp_path / "root"
    root.symlink_to(tmp_path / "real")
    BaselineStore(root).save([make_entry()])
    path_of(root).rename(root / FOLDER / "kept.yaml")
    path_of(root).symlink_to("kept.yaml")
    # what a link inside the root leads to has another name, and says so
    with pytest.raises(BaselineError, match="its file name says kept"):
        BaselineStore(root).find(ENVIRONMENT, "mlp-ps_async", 2)


def test_what_a_run_took_is_kept_and_may_be_missing(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry()])
    path = path_of(tmp_path)
    assert "run_seconds" not in path.read_text()
    baselines.save([make_entry(date="2026-11-28T22:36:48Z", run_seconds=(6.12345, 7.0))])
    assert path.read_text().count("        run_seconds: [6.12, 7]\n") == 1
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert [session.run_seconds for session in found.sessions] == [None, (6.12, 7.0)]
    # The same session again is none that is added.
    (saved,) = baselines.save([make_entry(date="2026-11-28T22:36:48Z", run_seconds=(6.12345, 7.0))])
    assert saved.note.startswith("stored already")


def test_what_the_first_run_took_is_kept_beside_the_later_ones(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(run_seconds=(6.0, 7.0), first_run_seconds=(50.127, 30.0))])
    assert "        first_run_seconds: [50.1, 30]\n        run_seconds: [6, 7]\n" in path_of(tmp_path).read_text()
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert (found.latest.first_run_seconds, found.latest.run_seconds) == ((50.1, 30.0), (6.0, 7.0))


@pytest.mark.parametrize("wrong", ["[6.12]", "[6.12, soon]", "[6.12, -7]", "6.12"])
@pytest.mark.parametrize("key", ["run_seconds", "first_run_seconds"])
def test_what_a_run_took_is_two_positive_numbers(tmp_path: Path, key: str, wrong: str) -> None:
    baselines = BaselineStore(tmp_path)
    wanted = {"run_seconds": (6.12, 7.0)} if key == "run_seconds" else {"first_run_seconds": (6.12, 7.0)}
    baselines.save([make_entry(2, **wanted)])
    edit(path_of(tmp_path), f"{key}: [6.12, 7]", f"{key}: {wrong}")
    with pytest.raises(BaselineError, match=rf"line \d+: replicas\.2\.sessions\..*\.{key}"):
        BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 2)


def test_why_a_session_was_saved_by_force_is_kept(tmp_path: Path) -> None:
    why = "its marker's slowdown makes steps longer on purpose (T(2) by 10 %)"
    session = make_session(replicas=4)
    session = dataclasses.replace(session, provenance=dataclasses.replace(session.provenance, forced=why))
    BaselineStore(tmp_path).save([make_entry(2), make_entry(4, sessions=(session,))])
    assert path_of(tmp_path).read_text().count("          forced: ") == 1
    found = [BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", count) for count in (2, 4)]
    assert [each.provenance.forced for each in found if each] == ["", why]
    edit(path_of(tmp_path), "forced: '" + why.replace("'", "''") + "'", "forced: ''")
    with pytest.raises(BaselineError, match=r"line \d+: replicas\.4\.sessions\..*\.saved\.forced is empty"):
        BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 4)


def test_how_long_windows_were_is_kept_and_may_be_missing(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry()])
    assert "window_seconds" not in path_of(tmp_path).read_text()
    baselines.save([make_entry(date="2026-11-28T22:36:48Z", window_seconds=0.25)])
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert [session.window_seconds for session in found.sessions] == [None, 0.25]
    edit(path_of(tmp_path), "window_seconds: 0.25", "window_seconds: 0")
    with pytest.raises(BaselineError, match=r"line \d+: replicas\.2\.sessions\..*window_seconds is 0"):
        BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 2)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_a_file_of_an_older_version_is_read(tmp_path: Path, version: int) -> None:
    BaselineStore(tmp_path).save([make_entry()])
    edit(path_of(tmp_path), "schema_version: 6", f"schema_version: {version}")
    assert BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 2) is not None


def test_a_disk_that_is_full_half_way(tmp_path: Path) -> None:
    """For real: the kernel lets this file have no more than a thousand bytes."""
    [saved] = BaselineStore(tmp_path).save([make_entry(replicas=1)])
    before = saved.path.read_bytes()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            BaselineStore(tmp_path).save([make_entry(replicas=2)])
        except BaselineError as error:
            os._exit(0 if "cannot be written: File too large. The file is as it was." in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert saved.path.read_bytes() == before
    assert [path.name for path in saved.path.parent.iterdir()] == [saved.path.name]
