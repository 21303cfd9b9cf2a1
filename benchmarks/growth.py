"""How time and memory of everything but the measuring grow with the number of arms: linearly, or this exits with 1.

    python -m benchmarks.growth [--arms 10 100 1000 10000] [--json FILE]

Every session is whole but for its runs, which are canned: deterministic and log-normal, five rounds for a gate and ten
to save, of sweeps with four replica counts, against baselines of five sessions in real files. Each number of arms has a
process of its own. Its phases:

- plan: markers to sweeps and their arms, as pytest's collection asks for it;
- load: every arm's limits and sessions, from a store that has read nothing yet;
- announce: how long the session will take, for which it reads every baseline, from a store of its own;
- judge: every look of every sweep, and the report of every arm;
- text: the failure's table of every arm, and the lines of the summary;
- save: every arm's new session into its file, and what its noise supports.

Time is the process's own processor time, so that a busy machine does not look like growth: one thread does it all, and
all but saving waits for nothing, so that on a machine of two cores which does nothing else it is the time on the clock
too. That one is in the JSON. Memory is the most that was resident, less what was before planning. A phase grows
linearly if its exponent, the slope of log time over log arms from 100 arms on, is at most 1.15: that leaves room for
what processor caches and the garbage collector take from a large process. Fewer arms than 100 are shown and not
fitted, as most of their time is what a session costs by itself.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.canned import CannedRuns, canned_specs, store_baselines

PHASES = ("plan", "load", "announce", "judge", "text", "save")
BAR_ARMS, BAR_SECONDS = 1000, 5.0
"""So many arms are planned, judged and told within so many seconds."""
MOST = 1.15
FITTED_FROM = 100


@dataclass
class Size:
    """What one number of arms took."""

    arms: int
    processor: dict[str, float] = field(default_factory=dict)
    """Seconds of processor time, by phase."""
    clock: dict[str, float] = field(default_factory=dict)
    """Seconds on the clock, by phase."""
    memory: float = 0.0
    """Most bytes resident, less those before planning."""
    looks: float = 0.0
    """Times that an arm was judged, on average."""

    @property
    def told(self) -> float:
        """Seconds until every arm is judged and told."""
        return sum(self.processor[name] for name in ("plan", "announce", "judge", "text"))


def measure(arms: int) -> Size:
    """Go through all phases in this process."""
    import scipy.special  # noqa: F401  (its import is no part of any phase)

    from pytest_tfperf.baseline.store import BaselineStore
    from pytest_tfperf.config import PerfConfig
    from pytest_tfperf.report.text import failure_lines, summary_lines, tally
    from pytest_tfperf.session import PerfSession
    from pytest_tfperf.workloads import registry

    size = Size(arms)

    runs = CannedRuns()

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        processor, clock = time.process_time(), time.monotonic()
        yield
        # The quickest of those that are repeated: some are so short that noise is most of them.
        size.processor[name] = min(time.process_time() - processor, size.processor.get(name, math.inf))
        size.clock[name] = min(time.monotonic() - clock, size.clock.get(name, math.inf))

    # In memory, where that can be had: to sync every file to a disk would take minutes in which nothing is measured.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="growth-", dir=memory if memory.is_dir() else None) as folder:
        root = Path(folder)
        config = PerfConfig(root=root, baselines=root / "baselines")
        gate = PerfSession(config, runs, runs)
        environment = store_baselines(config, arms)
        before = _resident()
        for _ in range(3):
            with phase("plan"):
                planned = canned_specs(arms)
                gate.plan(planned)
        with phase("load"):
            store = BaselineStore(config.baselines)
            for spec, replicas in planned:
                store.limits(environment, spec.baseline_name, replicas)
                assert store.find(environment, spec.baseline_name, replicas) is not None
            del store
        with phase("announce"):
            gate.announce({})
        workload = registry.get("mlp")
        with phase("judge"):
            reports = [gate.report(spec, count, workload, f"{spec.test}[{count}]") for spec, count in planned]
        for _ in range(3):
            with phase("text"):
                lines = [line for report in reports for line in failure_lines(report.view)]
                lines += summary_lines(gate.results.views, details=True)
                lines += [
                    (tally(view.verdict for view in gate.results.views), None),
                    (tally(gate.results.left_open), None),
                ]
        size.memory = max(0.0, _peak() - before)
        looks = (report.verdict.look for report in reports)
        size.looks = sum(look.round - 1 for look in looks if look is not None) / arms
        gate.close()
        del gate, reports, lines
        saving = PerfSession(PerfConfig(root=root, baselines=config.baselines, save=True, force_save=True), runs, runs)
        saving.plan(planned)
        for spec, count in planned:
            saving.report(spec, count, workload, f"{spec.test}[{count}]")
        with phase("save"):
            for spec, count in planned:
                saving.save(spec, count, passed=True)
        assert len(saving.saved) == arms
        saving.close()
    return size


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak() -> float:
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def exponent(sizes: list[Size], value: Callable[[Size], float]) -> float | None:
    """Slope of log value over log arms, by least squares; None for fewer than two sizes to fit."""
    points = [(math.log(size.arms), math.log(max(value(size), 1e-9))) for size in sizes if size.arms >= FITTED_FROM]
    if len(points) < 2:
        return None
    middle = [sum(column) / len(points) for column in zip(*points, strict=True)]
    spread = sum((x - middle[0]) ** 2 for x, _ in points)
    return float(sum((x - middle[0]) * (y - middle[1]) for x, y in points) / spread)


def table(sizes: list[Size]) -> Iterator[str]:
    """Each size's cost of an arm, its ratio to that of the size before, and the exponent of each phase."""
    yield "processor time of an arm in ms, in brackets its ratio to that of the size before; then memory of an arm"
    yield "  arms " + "".join(f"{name:>16}" for name in (*PHASES, "memory kB")) + "   looks   told in"
    costs = [
        [*(1000 * size.processor[name] / size.arms for name in PHASES), size.memory / size.arms / 1000]
        for size in sizes
    ]
    for row, (size, cost) in enumerate(zip(sizes, costs, strict=True)):
        cells = []
        for column, value in enumerate(cost):
            ratio = f" ({value / costs[row - 1][column]:.2f})" if row and costs[row - 1][column] > 0 else ""
            cells.append(f"{value:.3f}{ratio}".rjust(16))
        yield f"{size.arms:6d} {''.join(cells)}   {size.looks:5.1f}   {size.told:.2f} s"


def judged(sizes: list[Size]) -> tuple[list[str], bool]:
    """Lines that say what is linear, and whether all is as it should be."""
    lines, good = [], True
    values: dict[str, Callable[[Size], float]] = {name: _of(name) for name in PHASES}
    for name, value in {**values, "memory": lambda size: size.memory}.items():
        slope = exponent(sizes, value)
        if slope is not None:
            linear = slope <= MOST
            good &= linear
            lines.append(f"{name}: exponent {slope:.2f}, {'linear' if linear else f'NOT LINEAR (over {MOST})'}")
    for size in sizes:
        if size.arms == BAR_ARMS:
            within = size.told <= BAR_SECONDS
            good &= within
            verdict = "within" if within else "NOT WITHIN"
            lines.append(f"{size.arms} arms planned, judged and told in {size.told:.2f} s: {verdict} {BAR_SECONDS:g} s")
    return lines, good


def _of(name: str) -> Callable[[Size], float]:
    return lambda size: size.processor[name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asdict(measure(options.one))))
        return 0
    sizes = []
    for arms in sorted(options.arms):
        command = [sys.executable, "-m", "benchmarks.growth", "--one", str(arms)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        sizes.append(Size(**json.loads(done.stdout)))
        print(f"{arms} arms done", file=sys.stderr, flush=True)
    lines, good = judged(sizes)
    print("\n".join([*table(sizes), *lines]))
    if options.json:
        options.json.write_text(json.dumps([asdict(size) for size in sizes], indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
