"""The tfperf marker: items, ids, and every way to get it wrong. Nothing is measured here."""

from __future__ import annotations

import pytest

USE = "(tfperf):\n    tfperf.check()\n"


def collect(
    pytester: pytest.Pytester, marker: str, *args: str, test: str = f"def test_scales{USE}"
) -> pytest.RunResult:
    pytester.makepyfile(test_it=f"import pytest\n\n@pytest.mark.tfperf({marker})\n{test}")
    return pytester.runpytest("--collect-only", "-q", *args)


def test_one_item_for_each_replica_count(pytester: pytest.Pytester) -> None:
    result = collect(
        pytester, '"smallconv", strategy="multi_worker_mirrored", replicas=[1, 2, 4, 8], min_efficiency=0.9'
    )
    result.stdout.fnmatch_lines([f"test_it.py::test_scales[[]{count}[]]" for count in (1, 2, 4, 8)])
    assert result.ret == 0


def test_other_parameters_go_with_the_counts(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
import pytest

@pytest.mark.parametrize("colour", ["red", "blue"])
@pytest.mark.tfperf("smallconv", strategy="single", replicas=[1])
def test_it(colour, tfperf):
    pass
"""
    )
    result = pytester.runpytest("--collect-only", "-q")
    assert result.ret == 0
    assert len([line for line in result.outlines if "::test_it[" in line]) == 2


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('strategy="single"', "*give one workload*"),
        ('"smallconv"', "*argument 'strategy' is missing*"),
        ('"smallcon", strategy="single"', "*smallcon*smallconv*"),
        ('"smallconv", strategy="singel"', "*singel*single*"),
        ('"smallconv", strategy="single", replicas=[2]', "*2*"),
        ('"smallconv", strategy="single", replicas=[]', "*argument 'replicas' takes distinct whole numbers*[[][]]*"),
        ('"smallconv", strategy="single", replicas=[0]', "*argument 'replicas'*"),
        ('"smallconv", strategy="single", replicas=[True]', "*argument 'replicas'*"),
        ('"smallconv", strategy="single", replicas=[1, 1]', "*argument 'replicas'*"),
        ('"smallconv", strategy="single", replicas="12"', "*argument 'replicas'*'12'*"),
        ('"smallconv", strategy="single", min_efficiency=90', "*argument 'min_efficiency' takes a fraction*90*"),
        ('"smallconv", strategy="single", min_efficiency=0.9', "*argument 'min_efficiency' has nothing to judge*"),
        (
            '"smallconv", strategy="single", timeout=float("inf")',
            "*argument 'timeout' takes at most 1,000,000 seconds*",
        ),
        ('"smallconv", strategy="single", min_efficiency={2: 0.9}', "*argument 'min_efficiency'*2 replicas*"),
        (
            '"smallconv", strategy="single", tolerance=-1',
            "*argument 'tolerance' takes a fraction such as 0.03 (3 %)*-1*",
        ),
        ('"smallconv", strategy="single", rounds=0', "*argument 'rounds' takes a whole number*0*"),
        ('"smallconv", strategy="single", timeout="soon"', "*argument 'timeout'*'soon'*"),
        ('"smallconv", strategy="single", variant="../x"', "*argument 'variant'*'../x'*"),
        ('"smallconv", strategy="single", slowdown=0.1', "*argument 'slowdown' maps*0.1*"),
        ('"smallconv", strategy="single", slowdown={4: 0.1}', "*argument 'slowdown' names 4*"),
        ('"smallconv", strategy="single", reference="singel"', "*singel*single*"),
        (
            '"smallconv", strategy="single", bach_size=3',
            "*unknown argument 'bach_size'. Did you mean 'batch_size'? *",
        ),
        ('"smallconv", strategy="single", batch_size="many"', "*batch_size*many*"),
        (
            '"smallconv", strategy="single", batch_size=0',
            "Workload 'smallconv': batch_size is at least 1, not 0.*",
        ),
        ('"smallconv", strategy="ps_async", ps=0', "*ps*0*"),
        ('"smallconv", strategy="single", min_speedup=2', "*argument 'min_speedup' needs 'versus'*"),
        ('"smallconv", strategy="single", versus="single"', "*'versus' describes the very thing*"),
        ('"smallconv", strategy="ps_async", suspect=3', "*argument 'suspect' takes words*not 3"),
        ('"smallconv", strategy="ps_sync", suspect="bytes"', "*argument 'suspect' needs 'versus'*'ps_sync' is synchr*"),
        ('"smallconv", strategy="single", versus=3', "*argument 'versus' takes a strategy*3*"),
        (
            '"smallconv", strategy="single", versus={"ps": 2}',
            "*unknown argument 'ps'. 'ps' is an option of parameter_server, ps_async, ps_sync. Known: *",
        ),
        (
            '"smallconv", strategy="single", reference={"ps": 2}',
            "*argument 'reference': Strategy 'single' has no option 'ps'. It has: *. 'ps' is an option of *",
        ),
        ('"smallconv", strategy="single", versus={"batch_size": 1}, min_speedup=-2', "*'min_speedup' takes*-2*"),
    ],
)
def test_a_wrong_argument_names_file_test_and_argument(pytester: pytest.Pytester, marker: str, message: str) -> None:
    result = collect(pytester, marker)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"test_it.py::test_scales: @pytest.mark.tfperf: {message}"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_marked_test_that_measures_nothing_is_an_error(pytester: pytest.Pytester) -> None:
    result = collect(pytester, '"smallconv", strategy="single"', test="def test_scales():\n    pass\n")
    result.stdout.fnmatch_lines(["test_it.py::test_scales: marked tfperf, but does not use the fixture 'tfperf'*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_two_markers_of_one_test_are_an_error(pytester: pytest.Pytester) -> None:
    """Only the nearest would be measured, and the other thought to be."""
    second = '@pytest.mark.tfperf("smallconv", strategy="single", batch_size=8, variant="x")\n'
    result = collect(pytester, '"smallconv", strategy="single"', test=f"{second}def test_scales{USE}")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*test_it.py::test_scales: has two markers tfperf*write a test for each*"])


def test_the_marker_of_a_function_takes_its_modules_place(pytester: pytest.Pytester) -> None:
    of_module = 'pytestmark = pytest.mark.tfperf("smallconv", strategy="single", batch_size=8)\n\n'
    marker = '@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[2])\n'
    pytester.makepyfile(test_it=f"import pytest\n\n{of_module}{marker}def test_scales{USE}")
    result = pytester.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_it.py::test_scales[[]2[]]"])


def test_the_fixture_without_a_marker_says_what_to_write(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(tfperf):\n    tfperf.check()\n")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the fixture 'tfperf' needs a marker*@pytest.mark.tfperf(*"])


def test_two_tests_that_would_share_a_baseline_are_told_apart_first(pytester: pytest.Pytester) -> None:
    first = f'@pytest.mark.tfperf("smallconv", strategy="single")\ndef test_a{USE}\n'
    second = f'@pytest.mark.tfperf("smallconv", strategy="single", batch_size=8)\ndef test_b{USE}\n'
    pytester.makepyfile(test_it="import pytest\n\n" + first + second)
    result = pytester.runpytest("--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_it.py::test_a and test_it.py::test_b would share the baseline*variant=*"])
    pytester.makepyfile(
        test_it="import pytest\n\n" + first + second.replace("batch_size=8", "batch_size=8, variant='b8'")
    )
    assert pytester.runpytest("--collect-only").ret == 0


def test_a_shared_baseline_is_no_internal_error_in_a_worker(pytester: pytest.Pytester) -> None:
    same = f'@pytest.mark.tfperf("smallconv", strategy="single")\ndef test_other{USE}'
    pytester.makepyfile(test_it=f"import pytest\n\n{same}\n{same.replace('other', 'scales')}")
    pytester.makepyfile(test_more=f"import pytest\n\n{same.replace('strategy', 'batch_size=8, strategy')}")
    result = pytester.runpytest_subprocess("-n", "2")
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*tfperf does not measure in a pytest-xdist worker*"])


def test_markers_are_registered(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.tfperf(*", "@pytest.mark.gpu:*", "@pytest.mark.multi_gpu(n):*"])
