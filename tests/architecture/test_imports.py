"""TensorFlow stays out of pytest's process, and these tests can tell when it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("tensorflow", "keras", "tf_keras", "numpy", "scipy")

SUITE = """
import pytest

@pytest.mark.gpu
@pytest.mark.tfperf("resnet50", strategy="multi_worker_mirrored", replicas=[1, 2], min_efficiency=0.9)
def test_resnet50_scales(tfperf):
    tfperf.check()

@pytest.mark.tfperf("mlp", strategy="ps_async", replicas=[2])
def test_mlp(tfperf):
    tfperf.check()
"""


def imported_by(code: str, cwd: Path) -> set[str]:
    """Heavy packages in `sys.modules` after `code` has run in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], cwd=cwd, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    return set(line.split()[1:])


def test_import_is_light(tmp_path: Path) -> None:
    assert imported_by("import pytest_tfperf, pytest_tfperf.plugin", tmp_path) == set()


def test_collecting_a_suite_is_light(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    code = (
        "import pytest, sys\n"
        "assert pytest.main(['--collect-only', '-q', '-p', 'pytest_tfperf.plugin', '-p', 'no:tfperf']) == 0"
    )
    # The entry point is blocked and the module named, so that this also holds where the package is not installed.
    assert imported_by(code, tmp_path) == set()


@pytest.mark.parametrize("package", ["tensorflow", "numpy"])
def test_the_check_can_fail(tmp_path: Path, package: str) -> None:
    assert package in imported_by(f"import {package}", tmp_path)
    (tmp_path / "test_heavy.py").write_text(f"import {package}\ndef test_nothing(): pass\n")
    code = "import pytest\npytest.main(['--collect-only', '-q', '-p', 'no:tfperf'])"
    assert package in imported_by(code, tmp_path)
