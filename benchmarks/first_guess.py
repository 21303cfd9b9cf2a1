"""How long a session takes that measures what was never measured there: what it expects, over the stored baselines.

    python -m benchmarks.first_guess [--baselines DIR]

For each stored arm a session that saves it is planned, of six rounds, and forecast four times: with the arm's own
baseline, which says what its runs took; without it, of the same elsewhere; without that, of its workload under other
strategies or options; and of nothing. Prints all of them, and of the last three how many are within a third of the
first.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.durations import Stored, stored_of
from pytest_tfperf.forecast import forecast
from pytest_tfperf.records.arm import Device, Recipe, Scalar, Sweep, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry

TOLERANCE = 0.03
KINDS = ("elsewhere", "other strategies", "nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--baselines", type=Path, default=Path(__file__).parents[1] / "baselines")
    root: Path = parser.parse_args().baselines
    config = PerfConfig(root=root, baselines=root, save=True)
    within, told = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    print(f"{'':60} {'took':>7} " + " ".join(f"{kind:>17}" for kind in KINDS))
    for entry in stored_arms(root):
        sweep = sweep_of(entry)
        took = expected(sweep, config, Stored(entry, TOLERANCE))
        guesses = {
            "elsewhere": without(root, entry, everywhere=False),
            "other strategies": without(root, entry, everywhere=True),
            "nothing": Stored(None, TOLERANCE),
        }
        line = []
        for kind, known in guesses.items():
            if kind != "nothing" and not (known.alike if kind == "elsewhere" else known.kin):
                line.append(f"{'-':>17}")
                continue
            guess = expected(sweep, config, known)
            told[kind] += 1
            within[kind] += took * 2 / 3 <= guess <= took * 4 / 3
            line.append(f"{guess:8.0f} s {guess / took - 1:+6.0%}")
        print(f"{f'{entry.name} [{entry.replicas}] {entry.environment.name}'[:60]:60} {took:5.0f} s", *line)
    print(*(f"{kind}: {within[kind]} of {told[kind]} within a third" for kind in KINDS), sep="\n")


def stored_arms(root: Path) -> list[BaselineEntry]:
    store = BaselineStore(root)
    names = sorted({path.stem for path in root.glob("*/*.yaml")})
    return [entry for name in names for entry in store.every(name) if entry.latest.run_seconds is not None]


def sweep_of(entry: BaselineEntry) -> Sweep:
    """The sweep whose only arms are the entry's and its reference."""

    def part(prefix: str) -> dict[str, Scalar]:
        settings = entry.definition.items()
        return {key.removeprefix(prefix): value for key, value in settings if key.startswith(prefix)}

    params, device = part("workload."), str(entry.definition["device"])
    recipe, reference = Recipe(entry.strategy, part("strategy."), params), str(entry.definition["reference"])
    kind: Device = "gpu" if device == "gpu" else "cpu"
    spec = SweepSpec(
        "t.py::t", entry.workload, recipe, Recipe(reference, {}, params), (entry.replicas,), kind, rounds=3
    )
    return Sweep(spec, (entry.replicas,))


def without(root: Path, entry: BaselineEntry, *, everywhere: bool) -> Stored:
    """What the other files say of an arm, where its own is missing, or all of its name."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(root, Path(folder) / "baselines"))
        for path in copy.glob(f"*/{entry.name}.yaml"):
            if everywhere or path.parent.name == entry.environment.name:
                path.unlink()
        definition = {"workload": entry.workload, "strategy": entry.strategy, **entry.definition}
        return stored_of(BaselineStore(copy), entry.environment, entry.name, entry.replicas, definition, TOLERANCE)


def expected(sweep: Sweep, config: PerfConfig, known: Stored) -> float:
    return forecast([sweep], config, {}, lambda spec, replicas: known).expected


if __name__ == "__main__":
    main()
