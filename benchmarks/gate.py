r"""The gate's promise on real devices: what was saved is `unchanged` in a rerun, and one slowed test fails, alone.

    python -m benchmarks.gate save,rerun,slow --slow "perf_tests/test_resnet50.py::test_resnet50_scales[2]" \
        --out out -- perf_tests/test_resnet50.py perf_tests/test_gpt2.py -m gpu -k "2 or 4"
    python -m benchmarks.gate save,rerun --out out -- perf_tests -m "gpu and gate" --tfperf-largest
    python -m benchmarks.gate save,rerun,slow --slow "perf_tests/test_smallconv.py::test_smallconv_scales[2]" \
        --slow-by 0.8 --out out -- perf_tests/test_smallconv.py

Each stage is a pytest session of its own; what follows `--` is given to all of them. Baselines, reports and logs lie in
`--out`, so that stages can be run one by one. Prints every test's verdict and figures, and each session's length beside
the one it said it would take. Exit code 1 where a stage did not do what it should, 2 where it could not be run.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import read_json

ANNOUNCED = re.compile(r"^tfperf: (\d+ sweeps?, about .*)$", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("stages", help="of save, rerun and slow, joined by commas")
    parser.add_argument("--out", type=Path, required=True, help="folder of the baselines, reports and logs")
    parser.add_argument("--save-rounds", type=int, default=3, help="rounds of a session that saves (default: 3)")
    parser.add_argument("--slow", metavar="TEST[N]", help="the test that the stage slow makes slower")
    parser.add_argument("--slow-by", type=float, default=0.3, metavar="FRACTION", help="of each step (default: 0.3)")
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, for_pytest = parser.parse_args(arguments[:cut]), arguments[cut + 1 :]
    stages = options.stages.split(",")
    if not set(stages) <= {"save", "rerun", "slow"} or ("slow" in stages and not options.slow):
        parser.error("stages are save, rerun and slow; slow needs --slow")
    slow: list[str] = ["-p", "benchmarks.slowed", "--slow", str(options.slow), "--slow-by", str(options.slow_by)]
    extra = {"save": ["--tfperf-save", f"--tfperf-rounds={options.save_rounds}"], "rerun": [], "slow": slow}
    judges: dict[str, Callable[[SessionReport], list[str]]] = {
        "save": not_passed, "rerun": not_unchanged, "slow": lambda report: not_only(report, options.slow),
    }  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = []
    for stage in stages:
        report = session(stage, [*extra[stage], *for_pytest], options.out)
        if report is None:
            return 2
        wrong += [f"{stage}: {fault}" for fault in judges[stage](report)]
    print(*wrong or ["every stage did what it should"], sep="\n")
    return 1 if wrong else 0


def session(stage: str, arguments: Sequence[str], out: Path) -> SessionReport | None:
    """One session of pytest; None where it did not get through, or wrote no report, which is said."""
    path, log = out / f"{stage}.json", out / f"{stage}.log"
    path.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "pytest", "-v", "--tb=short",
        f"--tfperf-baselines={out / 'baselines'}", f"--tfperf-json={path}", *arguments,
    ]  # fmt: skip
    began = time.monotonic()
    with log.open("w") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    took = time.monotonic() - began
    announced = ANNOUNCED.search(text := log.read_text())
    print(f"{stage}: exit code {code} after {took:.0f} s; it expected {announced[1] if announced else 'nothing'}")
    try:
        report = read_json(path)
    except (ReportError, OSError) as error:
        print(f"{stage}: no report ({error}); the end of {log}:\n{text[-2000:]}")
        return None
    for case in report.cases:
        if case.outcome != "skipped":
            line = case.judgement.view.headline if case.judgement else case.reason
            print(f"  {case.id}: {case.outcome}, {line or 'it was not begun'}", flush=True)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        # Interrupted, wrong options, a file that cannot be collected, no test, or a signal's number, negative.
        print(f"{stage}: pytest did not get through; the end of {log}:\n{text[-2000:]}")
        return None
    return report


def not_passed(report: SessionReport) -> list[str]:
    """Tests that left no baseline."""
    return [f"{case.id}: {case.outcome}" for case in report.cases if case.outcome not in ("passed", "skipped")]


def not_unchanged(report: SessionReport) -> list[str]:
    """Tests with a verdict other than `unchanged`."""
    found = [f"{case.id} is {case.word}" for case in report.cases if case.word not in ("unchanged", "skipped")]
    return found if any(case.judgement for case in report.cases) else ["nothing was judged"]


def not_only(report: SessionReport, slow: str) -> list[str]:
    """What is wrong where exactly the test `slow` should be `regressed`."""
    worse = [case.id for case in report.cases if case.outcome in ("failed", "error")]
    verdicts = [case.word for case in report.cases if case.id == slow]
    if worse == [slow] and verdicts == ["regressed"]:
        return []
    return [f"failed: {', '.join(worse) or 'none'}; the slowed {slow} is {', '.join(verdicts) or 'not there'}"]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
