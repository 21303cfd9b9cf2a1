"""Strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.strategies.base import Strategy
from pytest_tfperf.strategies.independent import Independent
from pytest_tfperf.strategies.mirrored import Mirrored
from pytest_tfperf.strategies.multi_worker_mirrored import MultiWorkerMirrored
from pytest_tfperf.strategies.parameter_server import ParameterServer
from pytest_tfperf.strategies.ps_async import PsAsync
from pytest_tfperf.strategies.ps_sync import PsSync
from pytest_tfperf.strategies.single import Single
from pytest_tfperf.strategies.tower import Tower
from pytest_tfperf.workloads.settings import did_you_mean, resolve

_STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        *(Single(), Independent(), MultiWorkerMirrored(), Mirrored()),
        *(PsAsync(), PsSync(), ParameterServer(), Tower()),
    )
}


def names() -> tuple[str, ...]:
    """Names of all strategies, sorted."""
    return tuple(sorted(_STRATEGIES))


def get(name: str) -> Strategy:
    """The strategy of a name.

    Raises:
        UsageError: there is no such strategy.
    """
    if not isinstance(name, str) or name not in _STRATEGIES:
        raise UsageError(
            f"There is no strategy {name!r}.{did_you_mean(str(name), names())} Known: {', '.join(names())}."
        )
    return _STRATEGIES[name]


def whose_option(name: str) -> str:
    """`` 'ps' is an option of ...`` where it is one of some strategies, else an empty text."""
    owners = [owner for owner in names() if name in _STRATEGIES[owner].options]
    return f" {name!r} is an option of {', '.join(owners)}." if owners else ""


def resolve_options(strategy: Strategy, overrides: Mapping[str, object]) -> dict[str, Scalar]:
    """Every option of the strategy: its defaults, with the overrides that fit them.

    Whether values can be had, for instance a number of servers, is for `Strategy.layout` to say.

    Raises:
        UsageError: an override is unknown or of another type than its default.
    """
    for name in overrides:
        if name not in strategy.options and (hint := whose_option(name)):
            known = ", ".join(sorted(strategy.options)) or "none"
            raise UsageError(f"Strategy {strategy.name!r} has no option {name!r}. It has: {known}.{hint}")
    return cast("dict[str, Scalar]", resolve(f"Strategy {strategy.name!r}", "option", strategy.options, overrides))
