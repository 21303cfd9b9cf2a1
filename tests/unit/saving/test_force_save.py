"""What a baseline keeps of why it was refused, where it was saved by force: real files, canned runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.records.arm import Arm, Recipe, Sweep, SweepSpec
from pytest_tfperf.records.baseline import Provenance
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.refusals import under_floor
from pytest_tfperf.saving import Saver
from tests.unit.canned import judged

SPEC = SweepSpec("t.py::t", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2, 4), "cpu")
ENVIRONMENT = Environment({"cpu_model": "AMD EPYC", "cpu_cores": 2, "hosts": 1}, {})
STEADY = (100.0, 101.0, 99.0)
SLOWED = "its marker's slowdown makes steps longer on purpose (T(4) by 50 %)"


def result(throughput: Sequence[float] = STEADY, spec: SweepSpec = SPEC, disturbance: str = "") -> SweepResult:
    disturbed = (disturbance,) if disturbance else ()

    def of(arm: Arm) -> ArmResult:
        runs = [Run(arm, number, each, 1 / each, ()) for number, each in enumerate(throughput, 1)]
        return ArmResult(arm, tuple(replace(run, disturbances=disturbed) for run in runs))

    results = {arm: of(arm) for arm in (spec.reference_arm, spec.arm(2), spec.arm(4))}
    return SweepResult(Sweep(spec, (2, 4)), results, ENVIRONMENT, len(throughput), 0.0)


def save(
    root: Path,
    measured: SweepResult,
    *,
    replicas: int = 4,
    passed: bool = True,
    force: bool = True,
    verdict: ArmVerdict | None = None,
) -> str:
    """Save as a session of its own does; what the newest stored session says of force."""
    spec = measured.sweep.spec
    config = PerfConfig(root=root, baselines=root, save=True, force_save=force)
    saver = Saver(config, BaselineStore(root), lambda *_: 0.05)
    verdict = replace(verdict or judged(missing="none here"), arm=spec.arm(replicas))
    provenance = Provenance("2026-11-28T01:00:00Z", "a1b2c3d4", False, f"{spec.test}[{replicas}]")
    saver.save(measured, verdict, provenance, passed=passed)
    entry = BaselineStore(root).find(ENVIRONMENT, spec.baseline_name, replicas)
    assert entry is not None
    return entry.latest.provenance.forced


def test_what_nothing_refuses_is_not_marked(tmp_path: Path) -> None:
    assert save(tmp_path, result()) == ""


@pytest.mark.parametrize(
    ("measured", "passed", "kept", "told"),
    [
        (result(spec=replace(SPEC, slowdown={4: 0.5})), True, SLOWED, f"{SLOWED}; take it away first"),
        (result(), False, "its test failed", "its test failed"),
        (
            result(STEADY[:2]),
            True,
            "2 rounds do not show the noise",
            "2 rounds do not show the noise; a baseline needs at least 3",
        ),
        (
            result(disturbance="pid 123 used the CPU"),
            True,
            "something disturbed runs that count",
            "round 3: pid 123 used the CPU); save on a quiet machine",
        ),
        (result((100.0, 150.0, 60.0)), True, "too noisy: runs of ", "make the machine quieter or the tolerance wider"),
        (
            result(STEADY[:2], replace(SPEC, slowdown={4: 0.5})),
            False,
            f"{SLOWED}; its test failed; 2 rounds do not show the noise",
            f"{SLOWED}; take it away first",
        ),
    ],
)
def test_each_reason_is_kept_and_no_advice(
    tmp_path: Path, measured: SweepResult, passed: bool, kept: str, told: str
) -> None:
    """Nor what else ran on the machine, which is nothing to commit. Without force, nothing is written."""
    with pytest.raises(BaselineError) as refused:
        save(tmp_path, measured, passed=passed, force=False)
    assert str(refused.value).startswith("not saved: ")
    assert str(refused.value).endswith(told)
    assert list(tmp_path.iterdir()) == []
    forced = save(tmp_path, measured, passed=passed)
    assert forced.startswith(kept)
    assert not any(word in forced for word in ("pid 123", "make the", "save on", "at least"))


def test_what_looks_to_be_under_a_floor_is_no_baseline() -> None:
    noise = (1.01, 0.99, 1.0)
    unsure = judged(four=20000, noise=noise, floor=0.91, missing="none here")
    assert unsure.verdict is Verdict.INCONCLUSIVE
    refusal = under_floor(unsure)
    assert str(refusal) == "E(4) 0.877 looks to be under its floor 0.910; more rounds would tell"
    assert under_floor(judged(four=20000, noise=noise, floor=0.88, missing="none here")) is None
    assert under_floor(judged(four=20000, noise=noise, floor=0.5, missing="none here")) is None


def test_a_session_under_a_floor_is_refused_or_keeps_it_by_force(tmp_path: Path) -> None:
    low = judged(four=20000, noise=(1.01, 0.99, 1.0), floor=0.91, missing="none here")
    with pytest.raises(BaselineError, match=r"not saved: E\(4\) 0\.877 looks to be under its floor 0\.910"):
        save(tmp_path, result(), force=False, verdict=low)
    assert save(tmp_path, result(), verdict=low) == "E(4) 0.877 looks to be under its floor 0.910"


def test_the_place_of_another_test_is_no_doubt_about_what_takes_it(tmp_path: Path) -> None:
    save(tmp_path, result())
    other = replace(SPEC, test="t.py::other", reference=Recipe("mirrored"))
    with pytest.raises(BaselineError, match=r"is that of t\.py::t, which measured something else; give one of them"):
        save(tmp_path, result(spec=other), force=False)
    assert [save(tmp_path, result(spec=other), replicas=count) for count in (2, 4)] == ["", ""]


def test_a_measurement_that_is_saved_again_is_one_session_and_the_last_word_counts(tmp_path: Path) -> None:
    """A plugin may run a failed test again, which measures nothing anew."""
    assert save(tmp_path, result(), passed=False) == "its test failed"
    assert save(tmp_path, result()) == ""
    assert save(tmp_path, result(), passed=False) == "its test failed"
    entry = BaselineStore(tmp_path).find(ENVIRONMENT, SPEC.baseline_name, 4)
    assert entry is not None
    assert len(entry.sessions) == 1
