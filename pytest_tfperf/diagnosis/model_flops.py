"""How much arithmetic the model gets out of its devices: model FLOP/s, and their share of the GPU's peak.

Model FLOP/s utilisation as Chowdhery et al. 2022 (PaLM, arXiv:2204.02311, appendix B) define it: the operations that
the model's definition asks for, per second, over what the devices could do at most. What a program computes again, or
in vain, counts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tfperf.records.run import Run
from pytest_tfperf.units import format_number


@dataclass(frozen=True)
class Peak:
    """A GPU's published peak in TFLOP/s, dense (without sparsity), sums in float32."""

    half: float
    """float16 and bfloat16, on tensor cores where there are some."""
    single: float
    """float32 as TensorFlow multiplies it by default: TF32 from the Ampere generation on, else plain."""


_PEAKS: tuple[tuple[tuple[str, ...], Peak], ...] = (
    (("GB200",), Peak(2500, 1250)),
    (("B200",), Peak(2250, 1125)),
    (("GH200",), Peak(990, 495)),
    (("H200", "NVL"), Peak(836, 418)),
    (("H200",), Peak(989, 495)),
    (("H100", "PCIe"), Peak(756, 378)),
    (("H100", "NVL"), Peak(835, 418)),
    (("H100",), Peak(989, 495)),
    (("H800", "PCIe"), Peak(756, 378)),
    (("H800",), Peak(989, 495)),
    (("H20",), Peak(148, 74)),
    (("A100",), Peak(312, 156)),
    (("A800",), Peak(312, 156)),
    (("A30",), Peak(165, 82)),
    (("A40",), Peak(150, 75)),
    (("A10",), Peak(125, 62.5)),
    (("L40S",), Peak(362, 183)),
    (("L40",), Peak(181, 90.5)),
    (("L4",), Peak(121, 60)),
    (("V100S",), Peak(130, 16.4)),
    (("V100", "PCIE"), Peak(112, 14)),
    (("V100",), Peak(125, 15.7)),
    (("T4",), Peak(65, 8.1)),
)
"""By words of the model's name as NVML has it, the first that fits; NVIDIA's data sheets of each. Where a sheet gives
figures with sparsity, half of them."""


def peak_of(gpu: str) -> Peak | None:
    """The peak of a GPU by its name, for instance ``NVIDIA H100 80GB HBM3``; None for one that is not in the table.

    A slice of a GPU (MIG) is none: how much of the card it has is not in a table of cards.
    """
    if "MIG" in gpu or " + " in gpu:
        return None
    words = gpu.replace("-", " ").upper().split()
    return next((peak for wanted, peak in _PEAKS if all(word.upper() in words for word in wanted)), None)


def format_flops(value: float) -> str:
    """``251 TFLOP/s``, a trillion operations a second, or GFLOP/s and MFLOP/s where that is little."""
    for factor, unit in ((1e12, "TFLOP/s"), (1e9, "GFLOP/s")):
        if value >= factor:
            return f"{format_number(value / factor, 3)} {unit}"
    return f"{format_number(value / 1e6, 3)} MFLOP/s"


def utilisation(flops: float, gpu: str, precision: str) -> float | None:
    """Model FLOP/s of one GPU as a fraction of its peak; None for an unknown card. `precision` as of a workload."""
    peak = peak_of(gpu)
    return None if peak is None else flops / 1e12 / _limit(peak, precision)


def flops_lines(run: Run, gpu: str, precision: str) -> tuple[str, ...]:
    """Model FLOP/s of the run and tokens/s, a line each; () where the workload does not state what an example takes.

    `gpu` is the name of the GPUs, `precision` the type of the workload's products; a name that is not ``float32`` is
    held against the peak of half precision.
    """
    cost = run.tasks[0].cost
    if cost is None:
        return ()
    flops, replicas = run.throughput * cost.flops, run.arm.replicas
    text = f"model FLOP/s: {format_flops(flops)}"
    peak = peak_of(gpu) if run.arm.device == "gpu" else None
    if peak is not None:
        share = flops / replicas / 1e12 / _limit(peak, precision)
        cards, each = (gpu, "") if replicas == 1 else (f"{replicas} x {gpu}", " each")
        kind = " in TF32 or float32" if precision == "float32" else ""
        figure = format_number(_limit(peak, precision), 3)
        # Two digits: a step that waits for a server has hundredths of a percent, which are not nothing.
        text += f", {format_number(100 * share, 2)} % of the peak of {cards}{kind} ({figure}{each})"
    if not cost.tokens:
        return (text,)
    return (text, f"tokens/s: {format_number(run.throughput * cost.tokens, 3)}")


def _limit(peak: Peak, precision: str) -> float:
    return peak.single if precision == "float32" else peak.half
