"""A process a replica, each training a copy of its own, with no exchange of any kind: no servers, no all-reduce."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies.devices import rank_layout
from pytest_tfperf.strategies.eager_step import steps_per_call
from pytest_tfperf.strategies.single import Single


class Independent(Single):
    """What the machine gives when nothing is exchanged: the upper bound of every strategy.

    Each worker's step is that of `single`, so T(N) falls short of N x T(1) only by what workers take from each other
    without a word: memory bandwidth, shared caches, power and clocks, host threads, input. A strategy can lose that and
    more; ``versus="independent"`` measures the more. It trains N models, not one, and is no way to train.

    Workers do not wait for each other: all run for the same time, and each counts the updates of its own copy.
    """

    name = "independent"
    synchronous = False
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        steps_per_call(self.name, options)
        return rank_layout(self.name, replicas)
