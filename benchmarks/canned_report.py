"""A session's report of so many arms with canned runs: some slower, some unsure, some without a result.

    python -m benchmarks.canned_report [--arms 500] FILE.json

The runs are made up; all else is a session as it is. Its JSON file shows what every other report looks like:
`tfperf report FILE.json --html FILE.html`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.canned import CannedRuns, canned_specs, store_baselines
from pytest_tfperf.cases import TestCase
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import TaskDiedError, TaskState, TfPerfError
from pytest_tfperf.records.arm import Arm, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import to_json
from pytest_tfperf.report.text import failure_text
from pytest_tfperf.session import PerfSession
from pytest_tfperf.telling import ArmReport
from pytest_tfperf.workloads import registry
from pytest_tfperf.workloads.base import WorkloadDefinition

LOG = "step 1: loss 0.5 <b>not bold</b> & \"quoted\"\n\x1b[31mred\x1b[0m </script><script>alert('log')</script>"
"""What a task printed: text that a careless page would run."""


class UnevenRuns(CannedRuns):
    """Canned runs that are not all well: by the sweep's number, one in five slower, one in eleven lost."""

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        sweep = int(spec.test.rpartition("canned")[2])
        if sweep % 11 == 7 and arm.replicas == 8:
            state = TaskState("worker:3", "killed by SIGKILL", "warm-up", LOG)
            raise TaskDiedError("worker:3 died (SIGKILL) before it gave its result", (state,))
        run = super().run(spec, arm, workload, number, gpus)
        slower = {1: 4, 3: 1}.get(sweep % 5)  # in some T(4) alone, in some T(1), and with it every efficiency
        if slower == arm.replicas and (slower != 1 or arm.is_reference):
            run = replace(run, throughput=0.8 * run.throughput, step_time=run.step_time / 0.8)
        return replace(run, logs={str(task.task): LOG for task in run.tasks}, seconds=4.2)


def canned_report(root: Path, arms: int, spread: float = 0.004, rounds: int | None = None) -> SessionReport:
    """Go through a whole session in this folder; the noise lets most arms be decided in five rounds."""
    config = PerfConfig(root=root, baselines=root / "baselines", forced_rounds=rounds)
    store_baselines(config, arms - arms // 6, spread)  # the last ones have none
    runs = UnevenRuns(spread)
    perf, workload = PerfSession(config, runs, runs), registry.get("mlp")
    planned = canned_specs(arms)
    perf.plan(planned)
    for number, (spec, count) in enumerate(planned):
        nodeid = f"{spec.test}[{count}]"
        perf.cases.add(TestCase(nodeid, spec, count, spec.test.partition("::")[0], 10 + number // 4))
        if number % 50 == 49:
            perf.cases.note(nodeid, "skipped", "needs 8 GPUs, this machine has 4")
            continue
        try:
            report: ArmReport = perf.report(spec, count, workload, nodeid)
        except TfPerfError as error:
            perf.cases.note(nodeid, "error", str(error))
            continue
        failed = perf.fails(report.verdict)
        perf.cases.note(nodeid, "failed" if failed else "passed", failure_text(report.view) if failed else "")
    try:
        return perf.overview(1, ["perf_tests", "--tfperf-html", "report.html"])
    finally:
        perf.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--arms", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="canned-") as folder:
        given.file.write_bytes(to_json(canned_report(Path(folder), given.arms)))


if __name__ == "__main__":
    main()
