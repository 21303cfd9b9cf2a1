"""Arithmetic of a model in the details: per second, and against the peak of the card."""

from __future__ import annotations

import pytest

from pytest_tfperf.diagnosis.model_flops import flops_lines, format_flops, peak_of, utilisation
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.records.run import Run, TaskRun, Window
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.workloads import registry
from pytest_tfperf.workloads.registry import workload

H100 = "NVIDIA H100 80GB HBM3"


def run(throughput: float, cost: ModelCost | None, replicas: int = 1, device: str = "gpu") -> Run:
    task = TaskRun(
        task=TaskId("worker", 0),
        examples_per_step=1,
        replicas=replicas,
        warmup=(),
        steady=True,
        windows=(Window(0, 1, 1),),
        steps=1,
        updates=1,
        updates_are_global=False,
        losses=(),
        synchronous=True,
        cost=cost,
    )
    arm = Arm("gpt2", "single", replicas, "gpu" if device == "gpu" else "cpu")
    return Run(arm, 1, throughput, 1.0, (task,))


@pytest.mark.parametrize(
    ("gpu", "half", "single"),
    [
        (H100, 989, 495),
        ("NVIDIA H100 PCIe", 756, 378),
        ("NVIDIA H100 NVL", 835, 418),
        ("NVIDIA H200", 989, 495),
        ("NVIDIA A100-SXM4-40GB", 312, 156),
        ("NVIDIA A100 80GB PCIe", 312, 156),
        ("Tesla V100-SXM2-16GB", 125, 15.7),
        ("Tesla V100-PCIE-32GB", 112, 14),
        ("Tesla T4", 65, 8.1),
    ],
)
def test_peaks_by_the_drivers_name(gpu: str, half: float, single: float) -> None:
    peak = peak_of(gpu)
    assert peak is not None
    assert (peak.half, peak.single) == (half, single)


@pytest.mark.parametrize(
    "gpu",
    ["", "NVIDIA GeForce GTX 1080", "NVIDIA A10G", f"{H100} MIG 1g.10gb", f"NVIDIA A100-SXM4-40GB + {H100}"],
)
def test_no_peak_is_made_up(gpu: str) -> None:
    assert peak_of(gpu) is None
    assert utilisation(1e12, gpu, "bfloat16") is None
    assert flops_lines(run(100, ModelCost(1e12)), gpu, "bfloat16") == ("model FLOP/s: 100 TFLOP/s",)


def test_a_line_with_the_share_of_the_peak() -> None:
    lines = flops_lines(run(250, ModelCost(1e12)), H100, "float16")
    assert lines == ("model FLOP/s: 250 TFLOP/s, 25 % of the peak of NVIDIA H100 80GB HBM3 (989)",)


def test_a_small_share_is_not_told_as_nothing() -> None:
    (line,) = flops_lines(run(4, ModelCost(1e12)), H100, "float16")
    assert line == "model FLOP/s: 4.00 TFLOP/s, 0.40 % of the peak of NVIDIA H100 80GB HBM3 (989)"


def test_replicas_share_what_the_job_does() -> None:
    lines = flops_lines(run(1000, ModelCost(1e12, tokens=1024), replicas=4), H100, "bfloat16")
    assert lines == (
        "model FLOP/s: 1 000 TFLOP/s, 25 % of the peak of 4 x NVIDIA H100 80GB HBM3 (989 each)",
        "tokens/s: 1 024 000",
    )


def test_float32_is_held_against_tf32() -> None:
    (line,) = flops_lines(run(99, ModelCost(1e12)), H100, "float32")
    assert line == "model FLOP/s: 99.0 TFLOP/s, 20 % of the peak of NVIDIA H100 80GB HBM3 in TF32 or float32 (495)"
    assert utilisation(495e12, H100, "float32") == pytest.approx(1)


def test_nothing_is_said_of_what_is_not_stated() -> None:
    assert flops_lines(run(250, None), H100, "float16") == ()


def test_a_cpu_has_no_peak_here() -> None:
    assert flops_lines(run(5, ModelCost(1e9), device="cpu"), H100, "float32") == ("model FLOP/s: 5.00 GFLOP/s",)
    assert format_flops(3.2e7) == "32.0 MFLOP/s"


def test_a_workload_states_its_cost_by_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})

    @workload(cost=lambda *, width, batch_size: ModelCost(6.0 * width))
    def stated(batch_size: int = 8, width: int = 10) -> None: ...

    @workload
    def silent(batch_size: int = 8) -> None: ...

    assert stated.cost_of({**stated.params, "width": 20}) == ModelCost(120.0)
    assert silent.cost_of(silent.params) is None


def test_published_figures_hold_at_published_sizes_alone() -> None:
    resnet = registry.get("resnet50")
    assert resnet.cost_of(resnet.params) == ModelCost(6 * 4_089_184_256)
    assert resnet.cost_of({**resnet.params, "image_size": 192}) is None
