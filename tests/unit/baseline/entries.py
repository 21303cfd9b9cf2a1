"""Entries to store, for the tests of this folder and the processes that they start."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.environment import Environment

HARD: dict[str, str | int] = {"cpu_model": "AMD EPYC", "cpu_cores": 2, "hosts": 1}
FOLDER = "cpu-amd-epyc-2-cores"
ENVIRONMENT = Environment(HARD, {"python": "3.10", "tensorflow": "2.21.0"})
DATE = "2026-11-27T22:36:48Z"


def make_session(date: str = DATE, replicas: int = 2, **changes: object) -> BaselineSession:
    session = BaselineSession(
        provenance=Provenance(date, "a1b2c3d", False, "perf_tests/test_a.py::test_a"),
        soft=ENVIRONMENT.soft,
        reference_throughput=(1000.123456, 1010.0, 990.5),
        reference_step_time=(0.032, 0.0317, 0.0323),
        throughput=(1800.0 * replicas / 2, 1850.0, 1790.25),
        step_time=(0.0355, 0.0346, 0.0357512345),
    )
    return dataclasses.replace(session, **changes)  # type: ignore[arg-type]


def make_entry(replicas: int = 2, **changes: object) -> BaselineEntry:
    """One session; a change is of the entry or, where that has no such field, of the session; or `date`."""
    of_session = {name: changes.pop(name) for name in [*changes] if name in ("date", *_fields(BaselineSession))}
    entry = BaselineEntry(
        workload="mlp",
        strategy="ps_async",
        variant=None,
        replicas=replicas,
        definition={"scaling": "weak", "workload.batch": 32, "workload.rate": 1e-05, "workload.xla": False},
        hard=HARD,
        sessions=(make_session(replicas=replicas, **of_session),),  # type: ignore[arg-type]
    )
    return dataclasses.replace(entry, **changes)  # type: ignore[arg-type]


def _fields(record: type[BaselineSession]) -> Iterable[str]:
    return (field.name for field in dataclasses.fields(record))


def path_of(root: Path, name: str = "mlp-ps_async") -> Path:
    return root / FOLDER / f"{name}.yaml"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, (old, text)
    path.write_text(text.replace(old, new))


def annotate(path: Path, header: str) -> None:
    """Comments everywhere, and hand-set limits, in a file of 2 and 4 replicas."""
    edit(path, header + "\n", "# Our baselines.\n\n")
    edit(path, "schema_version: 6\n", "schema_version: 6   # first key, always\n")
    edit(
        path,
        "  2:\n    efficiency_floor: null\n",
        "  # two replicas\n  2:  # on one host\n    efficiency_floor: 0.80\n",
    )
    text = path.read_text()
    head, tail = text.split("  4:\n")
    head = head.replace("tensorflow: '2.21.0'\n", "tensorflow: '2.21.0'  # pinned\n")
    head += "    # end of two\n\n  # four replicas, see #17\n"
    tail = tail.replace("tolerance: null", "tolerance: 5e-2 # noisy")
    tail = tail.replace("          throughput: [", "          # the job\n          throughput: [", 1)
    assert tail.count("# the job") == 1
    path.write_text(head + "  4:\n" + tail + "\n# the end\n")
