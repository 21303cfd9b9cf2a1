"""`tfperf env` tells of this machine; NVML is replaced where there are to be GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_tfperf.cluster import network
from pytest_tfperf.command import env
from pytest_tfperf.measurement.environment import read_environment
from pytest_tfperf.measurement.gpus import Gpu, GpuSurvey
from tests.unit.command.made import stored, tfperf

Capture = pytest.CaptureFixture[str]

NO_GPU = GpuSurvey((), "no NVIDIA driver (libnvidia-ml.so not found)")
GPUS = GpuSurvey(
    tuple(Gpu(f"GPU-{number}", "NVIDIA H100 80GB HBM3", f"GPU-{number}") for number in range(4)), "", "nv18", "580.1"
)


@pytest.fixture(autouse=True)
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "why_no_links", lambda: "pyroute2 is not installed")
    monkeypatch.setattr(env, "survey_gpus", lambda: NO_GPU)


def test_this_machine_and_its_baselines(tmp_path: Path, capsys: Capture) -> None:
    name = read_environment("cpu", tmp_path).name
    ran = tfperf(capsys, "env", "--baselines", tmp_path / "baselines")
    assert ran.code == 0
    assert f"cpu  {name}, no baselines yet" in ran.out
    root = stored(tmp_path)
    assert f"cpu  {name}, 2 baselines" in tfperf(capsys, "env", "--baselines", root).out


def test_what_would_be_skipped_without_gpus_and_links(tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "env", "--baselines", tmp_path)
    assert "gpu  cannot be measured: no NVIDIA driver (libnvidia-ml.so not found)" in ran.out
    assert "  marked gpu: skipped, needs 1 GPU, this machine has 0 (no NVIDIA driver" in ran.out
    assert "  with a link: skipped, pyroute2 is not installed" in ran.out
    assert "links       no: pyroute2 is not installed" in ran.out


def test_gpus_and_what_joins_them(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "survey_gpus", lambda: GPUS)
    monkeypatch.setattr(network, "why_no_links", lambda: "")
    ran = tfperf(capsys, "env", "--baselines", tmp_path)
    assert "gpu  4x-nvidia-h100-80gb-hbm3-nv18-" in ran.out
    assert "GPUs        4, driver 580.1, every two joined by at least 18 NVLinks" in ran.out
    assert ran.out.count("NVIDIA H100 80GB HBM3, GPU-") == 4
    assert "  marked gpu, of more than 4 replicas: skipped, needs 5 GPUs, this machine has 4\n" in ran.out
    assert "with a link" not in ran.out


def test_json_says_the_same(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "survey_gpus", lambda: GPUS)
    found = json.loads(tfperf(capsys, "env", "--json", "--baselines", tmp_path).out)
    assert found["keys"]["cpu"]["hard"] == dict(read_environment("cpu", tmp_path).hard)
    assert found["keys"]["gpu"]["hard"]["gpu_count"] == 4
    assert found["gpus"]["interconnect"] == "nv18"
    assert found["links_missing"] == "pyroute2 is not installed"
    assert [lack["outcome"] for lack in found["lacks"]] == ["skipped", "skipped"]


def test_without_tensorflow(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    ran = tfperf(capsys, "env", "--baselines", tmp_path)
    assert "  all that measure: error, TensorFlow is not installed here" in ran.out


@pytest.mark.parametrize(
    ("survey", "text"),
    [
        (GpuSurvey(GPUS.gpus[:1], "", "none", "580.1"), "1, driver 580.1, alone"),
        (GpuSurvey(GPUS.gpus, "", "pcie", "580.1"), "4, driver 580.1, not all joined by NVLink, so PCIe counts"),
    ],
)
def test_other_topologies(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, survey: GpuSurvey, text: str
) -> None:
    monkeypatch.setattr(env, "survey_gpus", lambda: survey)
    assert text in tfperf(capsys, "env", "--baselines", tmp_path).out


@pytest.mark.parametrize(
    ("numbers", "text"), [((0,), "0"), ((0, 1, 2), "0-2"), ((0, 2, 3, 9), "0, 2-3, 9"), ((3, 1), "1, 3"), ((), "")]
)
def test_ranges_of_cores(numbers: tuple[int, ...], text: str) -> None:
    assert env._ranges(numbers) == text
