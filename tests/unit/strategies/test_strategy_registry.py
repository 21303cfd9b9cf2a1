"""Strategies by name, their options and the tasks that they ask for; no TensorFlow."""

from __future__ import annotations

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies.base import Strategy
from pytest_tfperf.strategies.registry import get, names, resolve_options


@pytest.mark.parametrize("name", ["single", "multi_worker_mirrored", "ps_async"])
def test_strategies_are_found_by_name(name: str) -> None:
    strategy: Strategy = get(name)
    assert strategy.name == name
    assert name in names()


def test_an_unknown_name_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match=r"no strategy 'ps_asinc'. Did you mean 'ps_async'\? Known: "):
        get("ps_asinc")


def test_options_are_complete_and_checked() -> None:
    assert resolve_options(get("ps_async"), {"ps": 2}) == {"ps": 2}
    assert resolve_options(get("multi_worker_mirrored"), {}) == {"communication": "auto", "pack_gradients": True}
    with pytest.raises(UsageError, match=r"Strategy 'ps_async' has no option 'pss'. Did you mean 'ps'\? It has: ps\."):
        resolve_options(get("ps_async"), {"pss": 2})
    with pytest.raises(UsageError, match=r"Strategy 'single' has no option 'ps'\. It has: none"):
        resolve_options(get("single"), {"ps": 1})
    with pytest.raises(UsageError, match="pack_gradients must be a bool"):
        resolve_options(get("multi_worker_mirrored"), {"pack_gradients": 1})


def test_layouts() -> None:
    assert get("single").layout(1, {}) == Layout(workers=1)
    assert get("multi_worker_mirrored").layout(4, {"communication": "nccl"}) == Layout(workers=4)
    assert get("ps_async").layout(3, {"ps": 2}) == Layout(workers=3, ps=2)


@pytest.mark.parametrize(
    ("name", "replicas", "options", "said"),
    [
        ("single", 2, {}, "cannot have 2 replicas"),
        ("multi_worker_mirrored", 0, {}, "at least 1 replica, not 0"),
        ("multi_worker_mirrored", 2, {"communication": "mpi"}, "auto, ring, nccl, not 'mpi'"),
        ("ps_async", 0, {}, "at least 1 replica, not 0"),
        ("ps_async", 2, {"ps": 0}, "at least 1 parameter server: ps=0"),
    ],
)
def test_what_cannot_be_laid_out(name: str, replicas: int, options: dict[str, Scalar], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        get(name).layout(replicas, options)


def test_who_waits_for_whom_and_who_counts() -> None:
    assert [(get(name).synchronous, get(name).updates_are_global) for name in ("single", "ps_async")] == [
        (True, False),
        (False, True),
    ]
