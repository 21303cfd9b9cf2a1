"""--tfperf-list: every arm of a suite, whatever is selected of it, and nothing is run."""

from __future__ import annotations

import json

import pytest

SUITE = """
import pytest

@pytest.mark.gpu
@pytest.mark.tfperf("resnet50", strategy="multi_worker_mirrored", replicas=[1, 4])
def test_gpu(tfperf):
    raise RuntimeError("it was run")

@pytest.mark.tfperf("mlp", strategy="ps_async", replicas=2, variant="small")
def test_cpu(tfperf):
    raise RuntimeError("it was run")

def test_other():
    raise RuntimeError("it was run")
"""


@pytest.mark.parametrize("args", [[], ["-k", "nothing"], ["-m", "gpu"], ["-n", "2"]])
def test_every_arm_is_listed(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.makepyfile(test_suite=SUITE)
    result = pytester.runpytest("--tfperf-list=arms.json", *args)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    arms = json.loads((pytester.path / "arms.json").read_text())["arms"]
    assert [(arm["name"], arm["device"], arm["replicas"]) for arm in arms] == [
        ("resnet50-multi_worker_mirrored", "gpu", 1),
        ("resnet50-multi_worker_mirrored", "gpu", 4),
        ("mlp-ps_async-small", "cpu", 2),
    ]
    assert arms[0]["test"] == arms[1]["test"] == "test_suite.py::test_gpu"


def test_it_is_not_for_people(pytester: pytest.Pytester) -> None:
    assert "--tfperf-list" not in str(pytester.runpytest("--help").stdout)
