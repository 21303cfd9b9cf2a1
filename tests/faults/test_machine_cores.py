"""Machines with fewer cores than it seems: a whole session works there, on those that there are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.machine_gate import gate, session

SUITE = """
import os
from pathlib import Path

import pytest
from pytest_tfperf import workload
from steady import steady

@workload("noting")
def noting(batch_size=8):
    cores = sorted(os.sched_getaffinity(0))
    Path(os.environ["NOTES"], str(os.getpid())).write_text(",".join(map(str, cores)))
    return steady(batch_size)

@pytest.mark.tfperf(noting, strategy="multi_worker_mirrored", replicas=[2])
def test_scales(tfperf):
    tfperf.check()
"""


def cores_of_ranks(place: str, folder: Path, **environ: str) -> tuple[int, set[str]]:
    """How many ranks a session's runs had, and the cores that they were pinned to."""
    notes = folder / "notes"
    notes.mkdir()
    done = session(place, gate(folder / "gate", SUITE), NOTES=str(notes), **environ)
    assert "1 passed" in done.stdout, done.stdout
    found = [path.read_text() for path in notes.iterdir()]
    return len(found), set(found)


def test_one_core(tmp_path: Path) -> None:
    """Two ranks and the reference, one after the other, all on it."""
    assert cores_of_ranks("one_core", tmp_path) == (3, {str(max(os.sched_getaffinity(0)))})


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this test's own, that is granted as much time as one core has."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores, so that one can be granted")
    for top, name, text in (
        ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000"),
        ("/sys/fs/cgroup", "cpu.max", "100000 100000"),
    ):
        folder = Path(top) / f"pytest-tfperf-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(text)
            yield folder
            return
        except OSError:
            continue
        finally:
            folder.rmdir()  # which works only where no process is left in it
    pytest.skip("this machine gives no right to make a control group with a quota")


def test_a_container_that_has_less_than_it_claims(group: Path, tmp_path: Path) -> None:
    """All cores are there to be seen, and time is granted for one: every rank is pinned to one, the same."""
    ranks, found = cores_of_ranks("in_group", tmp_path, TEST_CGROUP=str(group))
    assert ranks == 3
    (core,) = found
    assert int(core) in os.sched_getaffinity(0)
