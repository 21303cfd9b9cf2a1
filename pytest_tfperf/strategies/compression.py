"""Gradients in half precision while they are exchanged, so that half the bytes cross.

Horovod has it as `Compression.fp16`, PyTorch as communication hooks of DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Scalar

_KINDS = ("none", "float16", "bfloat16")


@dataclass(frozen=True)
class Compression:
    """What is done to a gradient before an all-reduce sums it over `replicas`.

    float16 has no number under 6e-8 but zero: a gradient that is smaller, once divided by the number of replicas, is
    lost, unless the workload scales its loss. bfloat16 has the range of float32, and a digit less than float16.
    """

    kind: str
    """``none``, or the type in which it is summed."""
    replicas: int

    @property
    def divisor(self) -> int:
        """What the sum is still to be divided by for the mean."""
        return self.replicas if self.kind == "none" else 1

    def compressed(self, gradient: Any) -> Any:
        """A gradient, or many packed into one tensor; divided first, as the sum of all might overflow float16."""
        import tensorflow as tf

        return gradient if self.kind == "none" else tf.cast(gradient / self.replicas, self.kind)


def check_nccl(strategy: str, kind: str, instead: str) -> None:
    """Raise UsageError for a kind that TensorFlow's own all-reduce over NCCL has not (its `NcclManager`, 2.21)."""
    if kind == "bfloat16":
        raise UsageError(
            f"Strategy {strategy!r}: TensorFlow's all-reduce over NCCL has no bfloat16; take compression='float16', or "
            f"{instead}."
        )


def compression(strategy: str, options: Mapping[str, Scalar], replicas: int) -> Compression:
    """The option `compression`.

    Raises:
        UsageError: there is no such kind.
    """
    kind = str(options.get("compression", "none"))
    if kind not in _KINDS:
        raise UsageError(f"Strategy {strategy!r}: compression is {', '.join(_KINDS)}, not {kind!r}.")
    return Compression(kind, replicas)
