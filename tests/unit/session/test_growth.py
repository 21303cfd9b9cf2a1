"""A session's work per arm does not grow with the number of its arms. Counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.canned import CannedRuns, canned_specs, store_baselines
from pytest_tfperf import judging, session
from pytest_tfperf.baseline import reading
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.report.text import failure_lines, summary_lines
from pytest_tfperf.session import PerfSession
from pytest_tfperf.workloads import registry

QUIET = 0.001
"""Noise at which every arm is settled at the first look, whatever their number makes of the chance of an alarm."""
FEW, MANY = 8, 24
COUNTED = ((Path, "read_bytes"), (reading, "parse"), (judging, "judge_arm"), (session, "git_provenance"))


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Calls of the functions above by name, and of all Python's and C's together, steps of generators included."""
    found: Counter[str] = Counter()

    def note(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            found["all"] += 1

    with monkeypatch.context() as patch:
        for owner, name in COUNTED:

            def counting(
                *given: object, name: str = name, real: object = getattr(owner, name), **more: object
            ) -> object:
                found[name] += 1
                assert callable(real)
                return real(*given, **more)

            patch.setattr(owner, name, counting)
        sys.setprofile(note)
        try:
            yield found
        finally:
            sys.setprofile(None)


def work(folder: Path, arms: int, monkeypatch: pytest.MonkeyPatch, *, save: bool) -> Counter[str]:
    """What a session does for so many arms: all from the plan on, or what saving adds."""
    config = PerfConfig(root=folder, baselines=folder / "baselines", save=save)
    store_baselines(config, arms, QUIET)
    runs, planned, workload = CannedRuns(QUIET), canned_specs(arms), registry.get("mlp")

    def judge(perf: PerfSession, count: int) -> None:
        perf.plan(planned[:count])
        for spec, replicas in planned[:count]:
            perf.report(spec, replicas, workload, spec.test)

    judge(PerfSession(config, runs, runs), 1)  # what is done once a process
    perf = PerfSession(config, runs, runs)
    if save:
        judge(perf, arms)
        with counted(monkeypatch) as found:
            for spec, replicas in planned:
                perf.save(spec, replicas, passed=True)
        assert len(perf.saved) == arms
        return found
    with counted(monkeypatch) as found:
        judge(perf, arms)
        tables = [list(failure_lines(view)) for view in perf.results.views]
        summary = list(summary_lines(perf.results.views, details=True))
        assert not perf.results.left_open
    assert len(tables) == arms <= len(summary)
    return found


@pytest.mark.parametrize("save", [False, True], ids=["judge", "save"])
def test_work_per_arm_does_not_grow(save: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # How old a file must be to be known without being read again is a matter of time: none here, or all.
    monkeypatch.setattr(reading, "_SETTLED_NS", 10**18 if save else -(10**18))
    few, many = (work(tmp_path / str(arms), arms, monkeypatch, save=save) for arms in (FEW, MANY))
    assert few["parse"] == many["parse"] == 0, "no file that the plugin wrote needs the slow parser"
    assert many["all"] / MANY <= 1.05 * few["all"] / FEW
    if save:
        assert many["read_bytes"] / MANY == few["read_bytes"] / FEW
        assert many["git_provenance"] == 1
    else:
        assert many["read_bytes"] == MANY / 4, "every file once"
        assert many["judge_arm"] == MANY, "every arm once, as each is settled at the first look"
