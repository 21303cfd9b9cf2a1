"""Inception-style networks from tables: convolutions, poolings and forks whose branches are concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.workloads.layers import Layer, Network, scaled


@dataclass(frozen=True)
class Conv:
    """A convolution without bias, batch normalisation without scale, and ReLU; VALID padding with a stride."""

    filters: int
    kernel: int | tuple[int, int] = 1
    stride: int = 1
    padding: str = ""


@dataclass(frozen=True)
class Pool:
    """3x3 pooling; VALID padding with a stride. An average counts no padding."""

    kind: str = "MAX"
    stride: int = 2


@dataclass(frozen=True)
class Fork:
    """Branches of the same input, concatenated over channels."""

    branches: tuple[tuple[Part, ...], ...]


Part = Conv | Pool | Fork


def fork(*branches: Sequence[Part]) -> Fork:
    """A `Fork`; an empty branch passes its input on."""
    return Fork(tuple(tuple(branch) for branch in branches))


class TowerNetwork(Network):
    """Base of networks made of `Part`s, `width` times as wide as their tables say."""

    def __init__(self, precision: str, width: float, *, decay: float, epsilon: float) -> None:
        super().__init__(precision)
        self._width = width
        self._decay, self._epsilon = decay, epsilon

    def tower(self, name: str, inputs: int, parts: Sequence[Part]) -> tuple[Layer, int]:
        """The parts one after the other, and how many channels the last one gives."""
        layers: list[Layer] = []
        channels = inputs
        for index, part in enumerate(parts, start=1):
            layer, channels = self._part(f"{name}_{index}", channels, part)
            layers.append(layer)

        def run(x: Any) -> Any:
            for layer in layers:
                x = layer(x)
            return x

        return run, channels

    def _part(self, name: str, inputs: int, part: Part) -> tuple[Layer, int]:
        if isinstance(part, Conv):
            return self._conv(name, inputs, part)
        if isinstance(part, Pool):
            return _pool(part), inputs
        made = [self.tower(f"{name}/branch_{index}", inputs, branch) for index, branch in enumerate(part.branches, 1)]
        return _concat([layer for layer, _ in made]), sum(channels for _, channels in made)

    def _conv(self, name: str, inputs: int, spec: Conv) -> tuple[Layer, int]:
        import tensorflow as tf

        filters = scaled(spec.filters, self._width)
        padding = spec.padding or _padding(spec.stride)
        conv = self.conv(f"{name}/conv", inputs, filters, spec.kernel, spec.stride, padding=padding)
        norm = self.batch_norm(f"{name}/norm", filters, scale=False, decay=self._decay, epsilon=self._epsilon)
        return (lambda x: tf.nn.relu(norm(conv(x)))), filters


def _padding(stride: int) -> str:
    return "SAME" if stride == 1 else "VALID"


def _pool(spec: Pool) -> Layer:
    import tensorflow as tf

    return lambda x: tf.nn.pool(x, [3, 3], spec.kind, strides=[spec.stride, spec.stride], padding=_padding(spec.stride))


def _concat(branches: Sequence[Layer]) -> Layer:
    import tensorflow as tf

    return lambda x: tf.concat([branch(x) for branch in branches], axis=-1)
