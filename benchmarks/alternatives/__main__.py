"""Speed of the built-in workloads beside the other ways to train the same with TensorFlow, in the same run.

    python -m benchmarks.alternatives --device gpu --workloads resnet50,gpt2 --rounds 3 --json alternatives.json

Every contestant trains in a fresh process, they take turns round by round, and all have the same batch, image size,
precision and kind of optimizer, their data on the device. One that cannot run is listed with the reason. `--tiny` tries
all of it on a CPU in minutes; its speeds mean nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.alternatives.contestant import Entry, Outcome
from benchmarks.alternatives.contests import CONTESTS, OURS, params_of
from benchmarks.alternatives.process import run_in_process
from benchmarks.alternatives.table import table
from benchmarks.settings import settings
from pytest_tfperf.errors import UsageError
from pytest_tfperf.units import format_number
from pytest_tfperf.workloads.registry import get


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--workloads", default=",".join(CONTESTS), help="names, joined by commas; default: all")
    parser.add_argument("--contestants", help="only these beside ours, joined by commas, for instance 'keras fit jit'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the workloads")
    parser.add_argument("--warmup", type=float, default=3.0, help="seconds of warm-up after the first step")
    parser.add_argument("--window", type=float, default=2.0, help="seconds of a timed window")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=400.0, help="seconds that one run may take")
    parser.add_argument("--tiny", action="store_true", help="sizes for a try on a CPU")
    parser.add_argument("--json", type=Path, help="where to write every run's figures")
    options = parser.parse_args(arguments)
    try:
        found = _compete(options)
    except UsageError as error:
        parser.error(str(error))
    return 0 if all(runs[OURS] and not runs[OURS][-1].problem for runs in found.values()) else 1


def _compete(options: argparse.Namespace) -> dict[str, dict[str, list[Outcome]]]:
    names = options.workloads.split(",")
    unknown = [name for name in names if name not in CONTESTS]
    if unknown:
        raise UsageError(f"There is no contest of {', '.join(unknown)}. Known: {', '.join(CONTESTS)}.")
    if options.rounds < 1:
        raise UsageError(f"--rounds is at least 1, not {options.rounds}.")
    changed = settings(options.set)
    params = {name: params_of(CONTESTS[name], tiny=options.tiny, changed=changed) for name in names}
    chosen = {name: _chosen(name, options.contestants) for name in names}
    found: dict[str, dict[str, list[Outcome]]] = {}
    for name in names:
        found[name] = {contestant: [] for contestant in chosen[name]}
        for number in range(1, options.rounds + 1):
            for contestant in _order(chosen[name], number):
                runs = found[name][contestant]
                if runs and runs[-1].problem:
                    continue  # it would fail again, and take its time
                entry = Entry(
                    name=contestant,
                    workload=name,
                    params=params[name],
                    device=options.device,
                    warmup_seconds=options.warmup,
                    window_seconds=options.window,
                    windows=options.windows,
                )
                outcome = run_in_process(entry, options.timeout)
                runs.append(outcome)
                if options.json:  # after each, so that a program that is cut off loses nothing
                    options.json.write_text(json.dumps(_as_json(found, params), indent=1) + "\n")
                said = outcome.problem or f"{format_number(outcome.examples_per_second)} examples/s"
                print(f"{name}, round {number}, {contestant}: {said}", flush=True)
        given = ", ".join(f"{key}={value}" for key, value in params[name].items())
        cost = get(name).cost_of(params[name])
        print(f"\n{name} ({given}), {options.device}, {options.rounds} rounds")
        print(table(found[name], cost, str(params[name]["precision"])), end="\n\n", flush=True)
    return found


def _chosen(workload: str, wanted: str | None) -> tuple[str, ...]:
    known = CONTESTS[workload].contestants
    if wanted is None:
        return known
    asked = [name.strip() for name in wanted.split(",")]
    everyone = {name for contest in CONTESTS.values() for name in contest.contestants}
    unknown = [name for name in asked if name not in everyone]
    if unknown:
        raise UsageError(f"There is no contestant {', '.join(unknown)}. Known: {', '.join(sorted(everyone))}.")
    return tuple(name for name in known if name == OURS or name in asked)


def _order(contestants: Sequence[str], number: int) -> Sequence[str]:
    """Forwards and backwards in turns, so that a drift of the machine favours nobody."""
    return contestants if number % 2 else tuple(reversed(contestants))


def _as_json(found: dict[str, dict[str, list[Outcome]]], params: dict[str, dict[str, object]]) -> object:
    return {
        workload: {
            "params": params[workload],
            "contestants": {name: [asdict(run) for run in runs] for name, runs in contestants.items()},
        }
        for workload, contestants in found.items()
    }


if __name__ == "__main__":
    raise SystemExit(main())
