"""Whatever stands in a marker, it is a spec or a usage error that names the test."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tfperf import marker, recipes
from pytest_tfperf.errors import UsageError
from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.records.arm import Device, SweepSpec
from pytest_tfperf.strategies import registry as strategies

OTHERS = ("batch_size", "ps", "colocate", "steps_per_call", "xla", "layers")
RING = {"strategy": "multi_worker_mirrored"}
NUMBERS = st.one_of(st.integers(-3, 9), st.integers(), st.floats(), st.booleans())
WORDS = st.one_of(
    st.text(max_size=6), st.sampled_from(["mlp", "single", "1gbit", "ps:0 worker:0", "worker:1", "reference"])
)
PLAIN = st.one_of(st.none(), NUMBERS, WORDS, st.binary(max_size=3), st.complex_numbers(), st.just(object()))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(
            st.one_of(st.integers(0, 5), st.text(max_size=4), st.booleans(), st.sampled_from(["strategy", *OTHERS])),
            inner,
            max_size=3,
        ),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(
    st.one_of(
        st.sampled_from([*marker._ARGUMENTS, *recipes.NETWORK, *OTHERS]),
        st.text(max_size=5),
    ),
    VALUES,
    max_size=5,
)
STRATEGIES = st.one_of(st.sampled_from(sorted(strategies.names())), VALUES)


@settings(max_examples=300, deadline=None)
@given(args=st.lists(st.one_of(st.just("mlp"), VALUES), min_size=0, max_size=2), strategy=STRATEGIES, kwargs=ARGUMENTS)
def test_a_spec_or_a_usage_error(args: list[Any], strategy: Any, kwargs: dict[str, Any]) -> None:
    check(args, {"strategy": strategy, **kwargs})


@settings(max_examples=300, deadline=None)
@given(strategy=st.sampled_from(sorted(strategies.names())), kwargs=ARGUMENTS)
def test_arguments_of_a_good_workload_and_strategy(strategy: str, kwargs: dict[str, Any]) -> None:
    check(["mlp"], {"strategy": strategy, "replicas": [1, 2], **kwargs})


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"strategy": []}, r"no strategy \[\]"),
        ({"strategy": "single", "reference": []}, r"'reference' takes a strategy, or options that T\(1\) .*, not \[\]"),
        ({"strategy": "single", "reference": {}}, r"'reference' takes a strategy, or options that T\(1\) .*, not \{\}"),
        ({"strategy": "single", "reference": {1: 2}}, "'reference' maps names of arguments to values; 1 is no name"),
        ({"strategy": "single", "reference": {"strategy": []}}, r"no strategy \[\]"),
        (RING | {"reference": {"batch_size": 1}}, "argument 'reference': 'batch_size' is the workload's, and T"),
        (
            RING | {"reference": {"strategy": "singl"}},
            "argument 'reference': There is no strategy 'singl'. Did you mean",
        ),
        (RING | {"versus": "singl"}, "argument 'versus': There is no strategy 'singl'. Did you mean 'single'"),
        (
            RING | {"versus": {"reference": "single"}},
            "'versus': unknown argument 'reference'. Known: strategy, link, h",
        ),
        (RING | {"versus": {"steps_per_call": 0}}, "'versus': Strategy 'multi_worker_mirrored': steps_per_call is 1"),
        (RING | {"versus": "single", "replicas": 2}, "argument 'versus': Strategy 'single' is one process on one"),
        (RING | {"reference": {"pack_gradients": False}}, "'reference': Strategy 'single' has no option 'pack_gra"),
        (RING | {"reference": {"steps_per_call": 0}}, "argument 'reference': Strategy 'single': steps_per_call is"),
        (RING | {"steps_per_call": 0}, "tfperf: Strategy 'multi_worker_mirrored': steps_per_call is 1 or more, not 0"),
        (RING | {"steps_per_call": 10**9}, "steps_per_call is 1024 at most, not 1000000000, as each step is traced"),
        ({"strategy": "ps_sync", "reference": "ps_async", "ps": 0}, "tfperf: Strategy 'ps_sync' .* ps=0"),
        (
            {"strategy": "ps_async", "ps": 10**20},
            "'ps_async': 1 replica and 10+ servers are more than one machine",
        ),
        (RING | {"replicas": [1, 2000]}, "'multi_worker_mirrored': 2000 replicas are more than one machine runs; 1024"),
        ({"strategy": "mirrored", "replicas": 10**9}, "'mirrored': 1000000000 replicas .*; 1024 at most"),
        ({"strategy": "single", "versus": {1: 2}}, "1 is no name"),
        ({"strategy": "single", "versus": {"strategy": []}}, r"no strategy \[\]"),
    ],
)
def test_what_was_found(kwargs: dict[str, Any], message: str) -> None:
    mark = pytest.mark.tfperf.with_args("mlp", **kwargs).mark
    with pytest.raises(UsageError, match=message):
        sweep_spec(mark, "test_a.py::test_a", "cpu")


@pytest.mark.parametrize(
    ("kwargs", "most"),
    [
        (RING, {"replicas": [1024]}),
        ({"strategy": "mirrored"}, {"replicas": [1024]}),
        ({"strategy": "ps_async"}, {"replicas": [1000], "ps": 24}),
        (RING, {"steps_per_call": 1024}),
    ],
)
def test_the_most_that_can_be_had_can(kwargs: dict[str, Any], most: dict[str, Any]) -> None:
    def spec(**asked: Any) -> SweepSpec:
        return sweep_spec(pytest.mark.tfperf.with_args("mlp", **kwargs, **asked).mark, "test_a.py::test_a", "cpu")

    assert spec(**most).replicas == tuple(most.get("replicas", [1]))
    for name, value in most.items():
        with pytest.raises(UsageError, match="1024 at most"):
            spec(**most | {name: [value[0] + 1] if isinstance(value, list) else value + 1})


NCCL_NEEDS = "communication='nccl' needs GPUs, as a test marked gpu has"
ON_GPUS = "'mirrored': collective='compiled' needs GPUs, as a test marked gpu has, and xla=True"
WITH_XLA = "'mirrored': collective='compiled' needs xla=True, as"
COMPILED = {"strategy": "mirrored", "collective": "compiled"}


@pytest.mark.parametrize(
    ("kwargs", "device", "message"),
    [
        (RING | {"communication": "nccl"}, "cpu", f"tfperf: Strategy 'multi_worker_mirrored': {NCCL_NEEDS}"),
        (RING | {"versus": {"communication": "nccl"}}, "cpu", f"argument 'versus': .*{NCCL_NEEDS}"),
        (RING | {"reference": RING | {"communication": "nccl"}}, "cpu", f"argument 'reference': .*{NCCL_NEEDS}"),
        (RING | {"compression": "bfloat16"}, "gpu", "NCCL has no bfloat16; .* or communication='ring'"),
        (COMPILED, "gpu", WITH_XLA),
        (COMPILED, "cpu", ON_GPUS),
        (COMPILED | {"xla": True}, "cpu", ON_GPUS),
        (COMPILED | {"xla": True, "versus": {"xla": False}}, "gpu", f"'versus': .*{WITH_XLA}"),
        ({"strategy": "mirrored", "compression": "bfloat16"}, "gpu", "bfloat16; .* or collective='compiled'"),
        # What can be had.
        (RING | {"communication": "nccl"}, "gpu", None),
        (RING | {"compression": "bfloat16"}, "cpu", None),
        (RING | {"compression": "bfloat16", "communication": "ring"}, "gpu", None),
        (COMPILED | {"xla": True, "compression": "bfloat16"}, "gpu", None),
        ({"strategy": "mirrored", "compression": "bfloat16"}, "cpu", None),
    ],
)
def test_what_a_device_has_not_is_told_before_anything_runs(
    kwargs: dict[str, Any], device: Device, message: str | None
) -> None:
    mark = pytest.mark.tfperf.with_args("mlp", replicas=[2], **kwargs).mark
    spec = sweep_spec(mark, "test_a.py::test_a", device)
    if message is None:
        marker.check_device(spec)
        return
    with pytest.raises(UsageError, match=message):
        marker.check_device(spec)


def check(args: list[Any], kwargs: dict[str, Any]) -> None:
    mark = pytest.mark.tfperf.with_args(*args, **kwargs).mark
    devices: tuple[Device, ...] = ("cpu", "gpu")
    for device in devices:
        try:
            spec = sweep_spec(mark, "test_a.py::test_a", device)
            assert spec.replicas
            marker.check_device(spec)
        except UsageError as error:
            assert str(error).startswith("test_a.py::test_a: @pytest.mark.tfperf: ")  # noqa: PT017
