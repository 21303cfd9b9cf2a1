"""Proves that verdicts can be trusted: false alarms and detection, beside the rules that other tools decide by.

    python -m benchmarks.verdicts           # everything; writes the tables into docs/verdicts.md
    python -m benchmarks.verdicts --quick   # about a minute; prints only
    python -m benchmarks.verdicts --ours --gates 2000   # our judge alone, for tuning it; some minutes; prints only

Needs `pip install -e ".[proof]"`. Exits with 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks.verdicts.bars import check
from benchmarks.verdicts.experiment import FULL, QUICK, run_again, run_pool, run_simulation
from benchmarks.verdicts.page import COUNTS, PAGE, real_table, results_text, write_between_markers, write_counts
from benchmarks.verdicts.peers import missing_packages
from benchmarks.verdicts.pool import DEFAULT_POOL, read


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="few gates: for trying a change, too few to prove anything"
    )
    parser.add_argument(
        "--pool", type=Path, default=DEFAULT_POOL, help="real runs; left out where there is no such file"
    )
    parser.add_argument("--ours", action="store_true", help="our judge alone, for tuning it; prints only")
    parser.add_argument(
        "--gates",
        type=int,
        help=f"of identical code in each setting, default {FULL.identical}; slowed ones in proportion",
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-write", action="store_true", help="leave docs/verdicts.md alone")
    options = parser.parse_args()
    if not options.ours and (missing := missing_packages()):
        parser.error(f'not installed: {", ".join(missing)}; pip install -e ".[proof]" brings the peers')
    size, began = QUICK if options.quick else FULL, time.monotonic()
    if options.gates:
        size = FULL.scaled_to(options.gates)
    simulated = run_simulation(size, options.processes, _progress, peers=not options.ours)
    pool, real = None, {}
    if not options.ours and options.pool.exists():
        pool = read(options.pool)
        real = run_pool(pool, size, _progress)
    elif not options.ours:
        print(f"no pool of real runs at {options.pool}: benchmarks/verdicts/collect.py collects one", file=sys.stderr)
    bars = check(simulated, partial(run_again, size=size, processes=options.processes, progress=_progress))
    seconds = time.monotonic() - began  # with the gates that a promise at its limit is tried on again
    took = f"{seconds / 60:.0f} minutes on {options.processes} cores" if seconds > 90 else f"{seconds:.0f} s"
    _progress("")
    for bar in bars:
        print(f"{'met   ' if bar.met else 'MISSED'}  {bar.promise}\n        {bar.figures}")
    if real:
        print("\n" + real_table(real))
    print(f"\njudged in {took}")
    if options.quick:
        print("quick: too few gates to prove anything")
    elif not options.no_write and not options.ours:
        write_between_markers(PAGE, results_text(bars, simulated, real, pool, size, took))
        write_counts(COUNTS, simulated)
        print(f"wrote {PAGE} and {COUNTS}")
    return 0 if all(bar.met for bar in bars) else 1


def _progress(text: str) -> None:
    """One line that is overwritten, on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
