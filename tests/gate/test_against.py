"""Two commits measured in one session, on real clusters; whatever happens, nothing of the other one is left."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

import pytest_tfperf
from pytest_tfperf.against.command import Invocation
from pytest_tfperf.against.other_side import OtherSide
from pytest_tfperf.config import PerfConfig
from tests.cluster.processes import poll
from tests.gate.conftest import PYTEST, UNWATCHED
from tests.gate.environ import environ
from tests.unit.against.repository import commit, git, new_repository, state, worktrees

SUITE = """
import pytest
from ours import ours

@pytest.mark.tfperf(ours, {marker})
def test_ours(tfperf):
    tfperf.check()
"""
ONE = 'strategy="single"'
TWO = 'strategy="multi_worker_mirrored", replicas=[2], tolerance=0.4'
OURS = """
import os, time
from pytest_tfperf import workload
from steady import stepping

SECONDS = {seconds}

@workload("ours")
def ours(batch_size=8):
    {first}
    return stepping(lambda: time.sleep(SECONDS), batch_size)
"""
FAST = OURS.format(seconds=0.02, first="pass")
SLOW = OURS.format(seconds=0.08, first="pass")


@dataclass(frozen=True)
class Checkout:
    """A repository, and a folder for the temporary files of what runs in it."""

    top: Path
    temporary: Path

    def command(self, *args: str) -> list[str]:
        return [*PYTEST, *args]

    @property
    def environ(self) -> dict[str, str]:
        return environ(TMPDIR=str(self.temporary))

    def run(self, *args: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            cwd=self.top / folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def processes(self) -> list[str]:
        """What runs in the temporary folder or speaks of it."""
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            words = [process.info["cwd"] or "", *(process.info["cmdline"] or [])]
            if any(str(self.temporary) in word for word in words):
                found.append(" ".join(words))
        return found


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    """A repository of one perf test, and a check that the other side left nothing behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    files = {"pytest.ini": "[pytest]\n", "test_ours.py": SUITE.format(marker=ONE), "ours.py": FAST}
    files[".gitignore"] = "__pycache__/\n"  # Python's own, where it writes any
    one = Checkout(new_repository(tmp_path / "repository", files), temporary)
    yield one
    poll(lambda: not one.processes(), lambda: f"no process left: {one.processes()}")
    assert worktrees(one.top) == 1
    assert list(temporary.glob("pytest-tfperf-*")) == []


def test_identical_code_passes_and_the_checkout_is_as_it_was(checkout: Checkout) -> None:
    commit(checkout.top, {"notes.txt": "nothing that matters"})
    (checkout.top / "ours.py").write_text(FAST + "# not committed\n")
    before = state(checkout.top)
    by_name = ("-p", "no:tfperf", "-p", "pytest_tfperf.plugin")  # as where it is not installed
    done = checkout.run(*by_name, "--tfperf-against=HEAD~1", "--tfperf-rounds=3", "--tfperf-require-baseline")
    assert done.returncode == 0, done.stdout
    name = f"HEAD~1 ({git(checkout.top, 'rev-parse', 'HEAD~1')[:7]})"
    assert f"against {name}, in the same rounds" in done.stdout
    assert "with the uncommitted changes, which are measured too" in done.stdout
    assert re.search(rf"CPU rank on .*, against {re.escape(name)}  .*T\(1\) .*%\)", done.stdout)
    assert "no_baseline" not in done.stdout
    assert state(checkout.top) == before


def test_a_slower_model_fails_and_names_what_moved(checkout: Checkout) -> None:
    commit(checkout.top, {"test_ours.py": SUITE.format(marker=TWO)})
    commit(checkout.top, {"ours.py": SLOW})
    done = checkout.run("-p", UNWATCHED, "--tfperf-against=HEAD~1")
    assert done.returncode == 1, done.stdout + done.stderr
    # Both arms are slower; the session ends as soon as it is sure of one.
    moved = re.search(r"^What moved: (T\([12]\))", done.stdout, flags=re.MULTILINE)
    assert moved is not None, done.stdout
    rows = {label: next(line for line in done.stdout.splitlines() if line.strip().startswith(label))
            for label in ("T(1) ", "T(2) ")}  # fmt: skip
    assert "regressed, tolerance 40.0 %" in rows[f"{moved[1]} "]
    assert all(re.search(r" -[5-9][0-9]\.[0-9] % ", row) for row in rows.values()), rows
    assert re.search(r"^Since HEAD~1 \(\w{7}\): commit \w{7} -> \w{7}\.$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"rounds in .*, against HEAD~1 \(\w{7}\)\. Again: pytest .* --tfperf-against HEAD~1", done.stdout)
    assert re.search(r"examples/s +HEAD~1 +now|HEAD~1 +now", done.stdout)


MANY = """
import pytest

{first}

@pytest.mark.tfperf("smallconv", strategy="single", batch_size={batch}, variant="changed")
def test_changed(tfperf):
    tfperf.check()

{skip}
@pytest.mark.tfperf("smallconv", strategy="single", batch_size=4, variant="skipped")
def test_skipped(tfperf):
    tfperf.check()

{last}
"""
NEW = """
import pytest

@pytest.mark.tfperf("smallconv", strategy="single", batch_size=4, variant="{name}")
def test_{name}(tfperf):
    tfperf.check()
"""


def test_tests_that_the_revision_has_not_or_not_so(checkout: Checkout) -> None:
    """From a subfolder of a rootdir that is itself a folder of the repository, by absolute ids and with -k."""
    # What a device of the revision's own tests cannot do, such as NCCL on CPUs, is of no concern to it either.
    faulty = NEW.format(name="faulty").replace('"single"', '"multi_worker_mirrored", communication="nccl"')
    old = MANY.format(first="", batch=8, skip='@pytest.mark.skip(reason="flaky")', last=faulty)
    broken = "import no_such_module\n" + NEW.format(name="broken")
    ini = "[pytest]\naddopts = -m nothing -n 2 -x\n"  # of no concern to the side that only answers
    commit(checkout.top, {"perf/pytest.ini": ini, "perf/sub/test_many.py": old, "perf/test_broken.py": broken})
    new = MANY.format(first="", batch=16, skip="", last=NEW.format(name="new"))
    files = {"perf/pytest.ini": "[pytest]\n", "perf/sub/test_many.py": new}
    commit(checkout.top, {**files, "perf/test_broken.py": NEW.format(name="broken")})
    (checkout.top / "perf" / "test_untracked.py").write_text(NEW.format(name="untracked") + NEW.format(name="other"))
    perf = checkout.top / "perf"
    ids = [str(perf / name) for name in ("sub/test_many.py", "test_broken.py", "test_untracked.py")]
    options = ("--tfperf-against=HEAD~1", "--tfperf-rounds=1", "--tfperf-require-baseline", "-k", "not other", "-v")
    done = checkout.run(*options, *ids, folder="perf/sub")
    totals = done.stdout.splitlines()[-1].strip("= ").partition(" in ")[0].split(", ")
    assert {"1 failed", "3 passed", "1 error", "1 deselected"} <= set(totals), done.stdout
    assert re.search(r"test_broken.py cannot be collected there:\n(?s:.*)No module named 'no_such_module'", done.stdout)
    assert "workload.batch_size was 8, is 16" in done.stdout
    assert re.search(r"new in this checkout: HEAD~1 \(\w{7}\) has no such test", done.stdout)
    assert re.search(r"HEAD~1 \(\w{7}\) skips this test, so there is nothing to compare", done.stdout)
    assert "3 no_baseline" in done.stdout
    assert done.returncode == 1


def test_a_broken_conftest_at_the_revision_is_shown(checkout: Checkout) -> None:
    commit(checkout.top, {"conftest.py": "raise RuntimeError('half-finished')\n"})
    commit(checkout.top, {"conftest.py": None})
    done = checkout.run("--tfperf-against=HEAD~1")
    assert done.returncode == 1, done.stdout
    assert "1 error" in done.stdout
    assert re.search(r"HEAD~1 \(\w{7}\): its pytest has ended \(exit code 4\)", done.stdout)
    assert "half-finished" in done.stdout


def test_a_plugin_that_is_too_old_is_said_to_be(checkout: Checkout) -> None:
    old = "def pytest_addoption(parser):\n" + "".join(
        f"    parser.addoption('--tfperf-{name}')\n" for name in ("window", "timeout", "launcher")
    )
    commit(checkout.top, {"pytest_tfperf/__init__.py": "", "pytest_tfperf/plugin.py": old})
    commit(checkout.top, {"pytest_tfperf/__init__.py": None, "pytest_tfperf/plugin.py": None})
    done = checkout.run("--tfperf-against=HEAD~1")
    assert done.returncode == 1, done.stdout
    assert "it does not know --tfperf-serve): it is too old, or not installed" in done.stdout


def test_the_other_side_dies_in_a_run(checkout: Checkout) -> None:
    dies = OURS.format(seconds=0.02, first="os.kill(int(os.environ['OTHER_PYTEST']), 9)")
    set_pid = "import os\nos.environ['OTHER_PYTEST'] = str(os.getpid())\n"
    commit(checkout.top, {"ours.py": dies, "conftest.py": set_pid})
    commit(checkout.top, {"ours.py": FAST, "conftest.py": None})
    done = checkout.run("--tfperf-against=HEAD~1", "--tfperf-rounds=3")
    assert done.returncode == 1, done.stdout
    assert "1 error" in done.stdout
    assert re.search(r"HEAD~1 \(\w{7}\): its pytest has ended \(killed by SIGKILL\)", done.stdout)
    assert "REGRESSED" not in done.stdout


def test_ctrl_c_leaves_nothing(checkout: Checkout, tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    try:
        with output.open("w") as file:
            running = subprocess.Popen(
                checkout.command("--tfperf-against=HEAD", "--tfperf-rounds=1000"),
                cwd=checkout.top,
                env=checkout.environ,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        poll(lambda: "round 1/1000" in output.read_text() or running.poll() is not None, "a round", 300)
        time.sleep(0.3)  # into a run of either side
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == pytest.ExitCode.INTERRUPTED, output.read_text()
    finally:
        running.kill()


def test_a_repository_that_contains_the_plugin_is_measured_with_its_own(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(checkout.temporary))
    monkeypatch.setenv("PYTHONPATH", checkout.environ["PYTHONPATH"])
    package = Path(pytest_tfperf.__file__).parent
    shutil.copytree(package, checkout.top / "pytest_tfperf", ignore=shutil.ignore_patterns("__pycache__"))
    commit(checkout.top, {})
    config = PerfConfig(root=checkout.top, baselines=checkout.top / "baselines", against="HEAD", launcher="spawn")
    other = OtherSide(config, Invocation(checkout.top, (checkout.top / "test_ours.py",)))
    try:
        offer = other.offer()
        assert Path(offer.plugin).parent.parent.parent == checkout.temporary
        assert set(offer.tests) == {"test_ours.py::test_ours"}
    finally:
        other.close()
