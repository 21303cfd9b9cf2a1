"""Files of older versions are read as this version, and become it when something is saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tfperf.baseline.codec import Document, FileProblem, parse
from pytest_tfperf.baseline.migrations import Migrated, migrate
from pytest_tfperf.baseline.schema import Limits
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.errors import BaselineError
from tests.unit.baseline.entries import DATE, ENVIRONMENT, edit, make_entry, make_session, path_of

VERSION_1 = """\
# Written by pytest --tfperf-save. For people to edit: efficiency_floor, tolerance and comments.
schema_version: 1  # at the top
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
    efficiency_floor: 0.80  # by hand
    tolerance: null
    # who saved it
    saved:
      date: '2026-11-27T22:36:48Z'  # at night
      commit: a1b2c3d  # the release
      dirty: false
      test: perf_tests/test_a.py::test_a
    soft:
      python: '3.10'
      tensorflow: '2.21.0'  # pinned
    runs:
      reference_throughput: [1000.12, 1010, 990.5]
      reference_step_time: [0.032, 0.0317, 0.0323]
      # the job
      throughput: [1800.0, 1850, 1790.25]
      step_time: [0.0355, 0.0346, 0.0357512]
    derived:
      reference_throughput: 1000.12
      reference_throughput_cv_percent: 0.975
      reference_step_time: 0.032
      throughput: 1800
      throughput_cv_percent: 1.77
      step_time: 0.0355
      efficiency: 0.90371
  # not measured yet
  8:
    efficiency_floor: 0.5
    tolerance: null
"""

VERSION_2_REPLICAS = """\
  2:
    efficiency_floor: 0.80  # by hand
    tolerance: null
    sessions:
      '2026-11-27T22:36:48Z':  # at night
        # who saved it
        saved:
          commit: a1b2c3d  # the release
          dirty: false
          test: perf_tests/test_a.py::test_a
        soft:
          python: '3.10'
          tensorflow: '2.21.0'  # pinned
        runs:
          reference_throughput: [1000.12, 1010, 990.5]
          reference_step_time: [0.032, 0.0317, 0.0323]
          # the job
          throughput: [1800.0, 1850, 1790.25]
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = path_of(tmp_path)
    path.parent.mkdir()
    path.write_text(VERSION_1)
    return path


def test_a_file_of_version_1_is_read_and_not_touched(path: Path) -> None:
    baselines = BaselineStore(path.parents[1])
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    session = make_session(reference_throughput=(1000.12, 1010.0, 990.5), step_time=(0.0355, 0.0346, 0.0357512))
    assert found == make_entry(floor=0.8, sessions=(session,))
    assert baselines.limits(ENVIRONMENT, "mlp-ps_async", 8) == Limits(0.5, None)
    assert path.read_text() == VERSION_1


def test_saving_another_replica_count_makes_it_this_version_with_every_comment_where_it_was(path: Path) -> None:
    BaselineStore(path.parents[1]).save([make_entry(4)])
    text = path.read_text()
    head, tail = VERSION_1.split("  2:\n")[0], "  # not measured yet\n  8:\n    efficiency_floor: 0.5\n"
    assert text.startswith(head.replace("schema_version: 1", "schema_version: 6") + VERSION_2_REPLICAS + "  4:\n")
    assert text.endswith(tail + "    tolerance: null\n")


def test_a_new_session_joins_that_of_version_1(path: Path) -> None:
    baselines = BaselineStore(path.parents[1])
    [saved] = baselines.save([make_entry(date="2026-11-28T22:36:48Z")])
    assert saved.note == "joined 1 earlier session"
    found = baselines.find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert [session.provenance.date for session in found.sessions] == [DATE, "2026-11-28T22:36:48Z"]
    assert found.floor == 0.8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'2026-11-27T22:36:48Z'", "5", "line 25: replicas.2.saved.date is 5, not a date such as"),
        ("'2026-11-27T22:36:48Z'", "soon", "line 25: replicas.2.sessions.soon is not a date such as"),
        ("      date: '2026-11-27T22:36:48Z'  # at night\n", "", "line 24: replicas.2.saved.date is None, not a date"),
        ("dirty: false", "dirty: maybe", "line 27: .*saved.dirty is 'maybe', not true or false"),
        ("1850", "-1850", "line 36: .*runs.throughput.1 is -1850; only values"),
        ("    soft:\n", "    sofa:\n", "line 29: replicas.2.sofa is not a key that belongs there"),
        ("    tolerance: null\n    # who", "    # who", "line 20: replicas.2 has no key tolerance"),
    ],
)
def test_what_is_broken_in_a_file_of_version_1_is_named_with_its_line(
    path: Path, old: str, new: str, message: str
) -> None:
    edit(path, old, new)
    with pytest.raises(BaselineError, match=message):
        BaselineStore(path.parents[1]).find(ENVIRONMENT, "mlp-ps_async", 2)


def test_a_file_of_version_1_cut_short_anywhere_is_noticed(path: Path) -> None:
    end = VERSION_1.index("derived:") + len("derived:\n")
    without_limits = VERSION_1.replace("0.80", "null")  # limits alone are a whole entry
    for length in range(0, end, 11):
        path.write_text(without_limits[:length])
        with pytest.raises(BaselineError):
            BaselineStore(path.parents[1]).find(ENVIRONMENT, "mlp-ps_async", 2)


def test_older_versions_are_migrated_step_by_step() -> None:
    document = parse("schema_version: 1  # x\nold: 5  # y\n")

    def second(before: Document) -> Migrated:
        return Migrated({"new": before.data["old"]}, lambda path: ("new",) if path == ("old",) else path)

    def third(before: Document) -> Migrated:
        return Migrated({**before.data, "three": 3}, lambda path: path)

    migrated = migrate(document, {1: second, 2: third}, current=3)
    assert migrated.data == {"new": 5, "three": 3, "schema_version": 3}
    assert [(comment.path, comment.text) for comment in migrated.comments] == [
        (("schema_version",), "  # x"),
        (("new",), "  # y"),
    ]
    assert migrated.lines[("new",)] == 2
    with pytest.raises(FileProblem, match="too old"):
        migrate(document, {}, current=2)
