"""Selected replica counts -> sweeps, their arms, and what each arm is given of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from pytest_tfperf.cluster import on_hosts, placements
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Arm, Recipe, Scalar, Sweep, SweepSpec
from pytest_tfperf.records.sweep import CORES_PER_RANK
from pytest_tfperf.records.task import Layout, TaskPlacement
from pytest_tfperf.strategies import registry


def plan_sweeps(selected: Iterable[tuple[SweepSpec, int]]) -> dict[str, Sweep]:
    """Sweeps by test, each with the replica counts that were selected of it, in ascending order.

    Raises:
        UsageError: two tests would share a baseline though they measure different things.
    """
    counts: dict[str, set[int]] = {}
    specs: dict[str, SweepSpec] = {}
    for spec, replicas in selected:
        specs[spec.test] = spec
        counts.setdefault(spec.test, set()).add(replicas)
    _check_names(specs.values())
    return {test: Sweep(specs[test], tuple(sorted(counts[test]))) for test in specs}


def _check_names(specs: Iterable[SweepSpec]) -> None:
    owner: dict[tuple[str, str], SweepSpec] = {}
    for spec in specs:
        other = owner.setdefault((spec.baseline_name, spec.device), spec)
        if other.definition != spec.definition:
            raise UsageError(
                f"{other.test} and {spec.test} would share the baseline {spec.baseline_name!r} but measure different "
                "things; give one of them a name of its own with variant='...' in its tfperf marker"
            )


def layout_of(spec: SweepSpec, arm: Arm) -> Layout:
    """The tasks that an arm needs."""
    recipe = spec.recipe_of(arm)
    return registry.get(recipe.strategy).layout(arm.replicas, recipe.strategy_options)


def cores_per_rank(spec: SweepSpec, cores: Sequence[int]) -> int | None:
    """Cores that every CPU replica of the sweep is pinned to, T(1)'s too: else T(1) would have the whole machine.

    It follows from all counts of the marker, not from the selected ones, so that a selection changes nothing.
    None on GPUs, where a rank may use every core, as training there does; 1 where there are more ranks than cores.
    """
    return None if spec.device == "gpu" else max(1, len(cores) // max(spec.replicas))


def definition_of(spec: SweepSpec, cores: Sequence[int]) -> dict[str, Scalar]:
    """What is measured on such cores, in the terms of a baseline's definition."""
    share = cores_per_rank(spec, cores)
    return {**spec.definition, **({} if share is None else {CORES_PER_RANK: share})}


def place(spec: SweepSpec, arm: Arm, gpus: Sequence[str], cores: Sequence[int]) -> tuple[TaskPlacement, ...]:
    """Give every training task of an arm its GPUs and cores; those that only serve get no GPU and any core.

    Args:
        gpus: identifiers for CUDA_VISIBLE_DEVICES; empty for a run on the CPU.
        cores: usable CPU cores by number; empty where nobody can be pinned.

    Raises:
        UsageError: there are fewer GPUs than replicas.
    """
    layout = layout_of(spec, arm)
    placed = _on_hosts(placements(layout, gpus=gpus), spec.recipe_of(arm), arm.replicas)
    per_rank = cores_per_rank(spec, cores)
    if per_rank is None or not cores:
        return placed
    width, starts = per_rank * layout.replicas_per_worker, count()
    serving = {"ps"} if layout.chief_trains else {"ps", "chief"}
    return tuple(
        task if task.id.type in serving else replace(task, cores=_slice(cores, next(starts) * width, width))
        for task in placed
    )


def _on_hosts(placed: tuple[TaskPlacement, ...], recipe: Recipe, replicas: int) -> tuple[TaskPlacement, ...]:
    """Put the tasks on the recipe's hosts; each on one of its own where the recipe has a link and says no more.

    Raises:
        UsageError: the hosts do not hold exactly the tasks of the arm.
    """
    if recipe.link is None:
        return placed
    hosts = recipe.hosts.get(replicas, tuple((str(task.id),) for task in placed))
    where = {name: number for number, names in enumerate(hosts) for name in names}
    tasks = {str(task.id) for task in placed}
    if set(where) != tasks or len(where) != sum(map(len, hosts)):
        raise UsageError(
            f"argument 'hosts' must name each of {', '.join(sorted(tasks))} once for {replicas} replicas, not "
            + " | ".join(" ".join(names) for names in hosts)
        )
    return on_hosts(placed, where)


def check_hosts(spec: SweepSpec) -> None:
    """Raises UsageError where a recipe's hosts do not hold exactly its tasks, at any of the spec's counts."""
    for replicas in spec.replicas:
        for arm in filter(None, (spec.arm(replicas), spec.versus_arm(replicas))):
            _on_hosts(placements(layout_of(spec, arm)), spec.recipe_of(arm), replicas)


def _slice(cores: Sequence[int], start: int, width: int) -> tuple[int, ...]:
    """`width` cores from `start` on, from the beginning again past the end: ranks share cores once all are taken."""
    return tuple(sorted({cores[(start + offset) % len(cores)] for offset in range(width)}))
