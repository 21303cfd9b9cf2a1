"""Asynchronous parameter servers: gradients are applied as they come, with no worker waiting for another.

Dean et al. 2012, "Large Scale Distributed Deep Networks", call this Downpour SGD.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.strategies.between_graph import BetweenGraph, Training


class PsAsync(BetweenGraph):
    """`global_step`, incremented beside the last variable, counts the updates of all workers."""

    name = "ps_async"
    synchronous = False
    updates_are_global = True

    def training(
        self, optimizer: Any, pairs: Sequence[tuple[Any, Any]], global_step: Any, workers: int, *, chief: bool
    ) -> Training:
        return Training(optimizer.apply_gradients(pairs, global_step=global_step))
