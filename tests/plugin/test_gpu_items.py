"""GPU items on machines with and without GPUs; NVML is replaced, since what it says decides."""

from __future__ import annotations

import pytest

from pytest_tfperf import items
from pytest_tfperf.measurement.gpus import Gpu

SUITE = """
import pytest

@pytest.mark.gpu
@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[1, 4])
def test_scales(tfperf):
    tfperf.check()

@pytest.mark.multi_gpu(2)
def test_two():
    pass

@pytest.mark.gpu
def test_one():
    pass

def test_cpu():
    pass
"""


def machine_with(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    gpus = tuple(Gpu(identifier=str(index), name="H100", uuid=f"GPU-{index}") for index in range(count))
    monkeypatch.setattr(items, "visible_gpus", lambda: gpus)


def test_without_gpus_every_gpu_item_skips_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_with(monkeypatch, 0)
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("-rs")
    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines(
        ["*needs 1 GPU, this machine has 0*", "*needs 4 GPUs, this machine has 0*", "*needs 2 GPUs*"], consecutive=False
    )


def test_only_what_fits_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, 2)
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("-rs", "-k", "two or one or cpu or 4")
    result.assert_outcomes(passed=3, skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["*needs 4 GPUs, this machine has 2*"])


def test_a_multi_gpu_without_a_number_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_with(monkeypatch, 2)
    pytester.makepyfile("import pytest\n\n@pytest.mark.multi_gpu\ndef test_it():\n    pass\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_it*@pytest.mark.multi_gpu takes the number of GPUs*"])


BY_SET = """
import pytest

@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.gpu)])
@pytest.mark.tfperf("mlp", strategy="{strategy}", replicas=[2, 4], {options})
def test_of_sets(tfperf, x):
    tfperf.check()

def test_cpu():
    pass
"""


@pytest.mark.parametrize(
    ("strategy", "options", "wrong", "right"),
    [
        ("mirrored", "collective='compiled', xla=True", "x=1", "x=2"),
        ("multi_worker_mirrored", "communication='nccl'", "x=1", "x=2"),
        ("multi_worker_mirrored", "compression='bfloat16'", "x=2", "x=1"),
    ],
)
def test_the_device_of_a_parameter_set_decides_what_it_may_ask_for(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, strategy: str, options: str, wrong: str, right: str
) -> None:
    machine_with(monkeypatch, 4)
    pytester.makepyfile(BY_SET.format(strategy=strategy, options=options))
    whole = pytester.runpytest("-q")
    assert whole.ret == pytest.ExitCode.USAGE_ERROR
    (said,) = [line for line in whole.stderr.lines if line.startswith("ERROR: ")]
    prefix = "ERROR: test_the_device_of_a_parameter_set_decides_what_it_may_ask_for.py::test_of_sets"
    assert said.startswith(f"{prefix}[{wrong}]: @pytest.mark.tfperf: Strategy '{strategy}': ")
    assert right not in said
    assert "tfperf: " not in whole.stdout.str(), "how long it would take is not said"
    assert "INTERNALERROR" not in whole.stdout.str() + whole.stderr.str()
    assert pytester.runpytest("-k", "cpu").ret == pytest.ExitCode.OK, "what is not selected is not asked"
    chosen = pytester.runpytest("--collect-only", "-q", "-k", f"2-{right[-1]} or 4-{right[-1]}")
    assert chosen.ret == pytest.ExitCode.OK
    chosen.stdout.fnmatch_lines(["2/5 tests collected*"])


WRONG = """
import pytest

{mark}@pytest.mark.tfperf("mlp", strategy="multi_worker_mirrored", replicas=[2], communication="nccl")
def test_wrong(tfperf):
    tfperf.check()

def test_other():
    pass
"""


def test_who_measures_nothing_does_not_ask_what_a_device_can_do(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_with(monkeypatch, 0)
    pytester.makepyfile(WRONG.format(mark=""))
    assert pytester.runpytest("-q").ret == pytest.ExitCode.USAGE_ERROR
    workers = pytester.runpytest("-n", "2")
    workers.assert_outcomes(passed=1, errors=1)
    workers.stdout.fnmatch_lines(["*tfperf does not measure in a pytest-xdist worker*"])
    listed = pytester.path / "listed.json"
    assert pytester.runpytest("-q", "--collect-only", f"--tfperf-list={listed}").ret == pytest.ExitCode.OK
    assert "test_wrong" in listed.read_text()


@pytest.mark.parametrize("mark", ["@pytest.mark.skip\n", "@pytest.mark.gpu\n"])
def test_a_test_that_is_skipped_or_has_what_it_asks_for_stops_no_other(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    machine_with(monkeypatch, 0)
    pytester.makepyfile(WRONG.format(mark=mark))
    pytester.runpytest().assert_outcomes(passed=1, skipped=1)


def test_a_mark_that_a_conftest_adds_gives_the_device(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_with(monkeypatch, 0)
    pytester.makeconftest(
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item.add_marker(pytest.mark.gpu)\n"
    )
    pytester.makepyfile(WRONG.format(mark=""))
    result = pytester.runpytest("-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*needs 2 GPUs, this machine has 0*"])
