"""What a real pytest gives to GitHub Actions and writes into its JUnit file."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from pytest_tfperf.fixtures import _set_properties
from pytest_tfperf.report import github
from tests.gate.environ import environ
from tests.plugin.canned_session import Canned, suite

IDENTITY = {"workload": "mlp", "strategy": "multi_worker_mirrored", "replicas": "2", "device": "cpu"}


NAMES = ("regressed", "no_baseline", "unchanged", "error")


@pytest.fixture
def canned(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Canned:
    found = Canned(pytester, monkeypatch)
    found.save()
    return found


def properties(case: ElementTree.Element) -> dict[str, str]:
    found = [(str(each.get("name")), str(each.get("value"))) for each in case.findall("properties/property")]
    assert len(dict(found)) == len(found), "each once"
    return dict(found)


def test_on_github(canned: Canned, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, summary = canned.folder.parent, canned.folder / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    args = ("--color=yes", "-o", "junit_family=legacy", "--junitxml=junit.xml", "--tfperf-markdown=night.md")
    done = canned.gate(suite(*NAMES), *args)
    assert done.ret == 1
    lines = [line for line in done.outlines if re.match(r"::(error|warning) ", line)]
    file = f"{canned.folder.name}/test_suite.py"
    assert [line.partition("::mlp")[0].partition("::worker")[0] for line in lines] == [
        f"::error file={file},line=3,title=regressed%3A test_suite.py%3A%3Atest_regressed[2]",
        f"::error file={file},line=21,title=error%3A test_suite.py%3A%3Atest_error[2]",
        f"::warning file={file},line=9,title=no_baseline%3A test_suite.py%3A%3Atest_no_baseline[2]",
    ]
    assert not any("\x1b" in line for line in lines)
    assert "regressed, tolerance 3.0 %25%0A" in lines[0]
    assert summary.read_text() == (canned.folder / "night.md").read_text()
    assert summary.read_text().startswith("## Training speed: 1 unchanged, 1 regressed, 1 no_baseline, 1 error\n")
    assert any(f"job summary: {summary}" in line for line in done.outlines)
    check_junit(canned.folder / "junit.xml")


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_elsewhere_nothing_of_it(canned: Canned, monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    summary = canned.folder / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = canned.gate(suite(*NAMES), "-o", f"junit_family={family}", "--junitxml=junit.xml")
    assert done.ret == 1
    assert not [line for line in done.outlines if re.match("::(error|warning) ", line)]
    assert not summary.exists()
    check_junit(canned.folder / "junit.xml")


def test_an_interrupt_before_the_first_report_loses_no_verdict(canned: Canned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    def interrupted(*given: object, **more: object) -> tuple[str, ...]:
        signal.raise_signal(signal.SIGINT)
        return ()

    monkeypatch.setattr(github, "annotation_lines", interrupted)
    # What a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = canned.gate(suite("unchanged"), "--tfperf-markdown=night.md")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["tfperf: the reports were interrupted, and may not have been written", "*1 unchanged*"])


def check_junit(path: Path) -> None:
    (root,) = ElementTree.parse(path).getroot()
    cases = {str(case.get("name")).removeprefix("test_").removesuffix("[2]"): case for case in root.iter("testcase")}
    assert (root.get("failures"), root.get("errors")) == ("1", "1")
    for name, case in cases.items():
        found = properties(case)
        assert {key: found[f"tfperf_{key}"] for key in IDENTITY} == IDENTITY
        assert found["tfperf_variant"] == name
        if name == "error":
            assert set(found) == {f"tfperf_{key}" for key in (*IDENTITY, "variant")}
            continue
        assert found["tfperf_verdict"] == name
        assert float(found["tfperf_throughput_low"]) < float(found["tfperf_throughput"])
        assert ("tfperf_change" in found) == (name != "no_baseline")
    assert float(properties(cases["regressed"])["tfperf_change"]) == pytest.approx(-0.3, abs=0.02)
    assert float(properties(cases["unchanged"])["tfperf_change"]) == pytest.approx(0, abs=0.02)


def test_a_test_that_is_run_once_more_has_its_properties_once() -> None:
    item = SimpleNamespace(user_properties=[("mine", 1), ("tfperf_verdict", "inconclusive")])
    _set_properties(item, (("tfperf_verdict", "unchanged"),))  # type: ignore[arg-type]
    assert item.user_properties == [("mine", 1), ("tfperf_verdict", "unchanged")]


def test_a_session_that_a_test_starts_knows_nothing_of_the_job_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failures, which are meant to be, would be told in the job's own summary."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("TF_SOMETHING", "1")
    made = environ("/folder", GITHUB_ACTIONS="false")
    assert [name for name in made if name.startswith(("GITHUB_", "PYTEST_"))] == ["GITHUB_ACTIONS"]
    assert made["TF_SOMETHING"] == "1"
    assert made["PYTHONPATH"].startswith(f"/folder:{Path(__file__).parents[1] / 'gate'}")


def test_what_was_not_run_is_named_at_the_end(canned: Canned) -> None:
    done = canned.gate(suite("regressed", "unchanged", "improved", "inconclusive", "no_baseline"), "-x")
    names = ("unchanged", "improved", "inconclusive")
    listed = ", ".join(f"test_suite.py::test_{name}[[]2]" for name in names)
    done.stdout.fnmatch_lines(["1 regressed", f"not run, or not to the end: {listed} and 1 more", "took *"])
    # Nothing was measured, so there is no more than this to say.
    done = canned.gate(suite("error", "unchanged"), "-x")
    done.stdout.fnmatch_lines(["tfperf: not run, or not to the end: test_suite.py::test_unchanged[[]2]"])
    for args in ([], ["--collect-only"], ["-k", "nothing"]):
        assert "not run, or" not in canned.gate(suite("regressed", "unchanged"), *args).stdout.str()
