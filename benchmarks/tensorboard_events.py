"""Seconds that a session's TensorBoard events take to write; the first session's with importing TensorBoard.

python -m benchmarks.tensorboard_events [--arms 500] [--sessions 3]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.canned_report import canned_report
from pytest_tfperf.report.tensorboard import write_events
from pytest_tfperf.units import format_bytes, format_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tensorboard-") as name:
        folder = Path(name)
        report = canned_report(folder / "session", given.arms)
        for day in range(given.sessions):
            began, busy = time.perf_counter(), time.process_time()
            write_events(replace(report, started=f"2026-01-{day + 1:02}T01:00:00Z"), folder / "events")
            took, busy = time.perf_counter() - began, time.process_time() - busy
            files = [path for path in (folder / "events").rglob("*") if path.is_file()]
            size = format_bytes(sum(path.stat().st_size for path in files))
            print(
                f"session {day + 1}, {given.arms} arms: {format_seconds(took)}, {format_seconds(busy)} of it its own; "
                f"{len(files)} files, {size} in all"
            )


if __name__ == "__main__":
    main()
