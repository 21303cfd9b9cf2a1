"""A session writes the page that it was asked for, also where nothing was measured."""

from __future__ import annotations

import pytest

SUITE = """
import pytest

@pytest.mark.gpu
@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[1, 4])
def test_scales(tfperf):
    tfperf.check()
"""


def test_the_page_of_a_session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tfperf.items.visible_gpus", tuple)
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("--tfperf-html", "out/report.html")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*HTML report: *out/report.html*"])
    page = (pytester.path / "out" / "report.html").read_text()
    assert "<h1>2 skipped</h1>" in page
    assert "needs 4 GPUs, this machine has 0" in page
