"""What a marker's arguments say of how its arms train: the recipe, its reference, and what it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Recipe, Scalar
from pytest_tfperf.records.link import Link
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.base import DeviceBound, Strategy
from pytest_tfperf.units import plural
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.settings import did_you_mean

NETWORK = ("link", "hosts")
_MOST = 1024
"""Tasks, or replicas, of a job. All run on this machine, so a number beyond is a slip of the keyboard, and listing as
many tasks might take hours."""


def recipe_of(
    workload: WorkloadDefinition,
    strategy_name: object,
    given: Mapping[str, Any],
    replicas: tuple[int, ...],
    *,
    others: tuple[str, ...],
) -> Recipe:
    """Tell the strategy's options from the workload's parameters; `others` are names that a message lists beside them.

    Raises:
        UsageError: an argument is unknown, or does not fit.
    """
    given = dict(given)
    link, hosts = (given.pop(name, None) for name in NETWORK)
    strategy = strategies.get(cast("str", strategy_name))
    known = strategy.options
    both = sorted(set(known) & set(workload.params))
    if both:
        raise UsageError(
            f"workload {workload.name!r} and strategy {strategy.name!r} both have a parameter {both[0]!r}; "
            "rename the workload's"
        )
    unknown = [key for key in given if key not in known and key not in workload.params]
    if unknown:
        rest = (*others, *NETWORK)
        hint = strategies.whose_option(unknown[0]) or did_you_mean(unknown[0], [*rest, *known, *workload.params])
        raise UsageError(
            f"unknown argument {unknown[0]!r}.{hint} "
            f"Known: {', '.join(rest)}; of the strategy: {', '.join(known) or 'none'}; "
            f"of the workload: {', '.join(workload.params) or 'none'}"
        )
    options = strategies.resolve_options(strategy, {key: given[key] for key in given if key in known})
    params = workloads.resolve_params(workload, {key: given[key] for key in given if key in workload.params})
    return Recipe(strategy.name, options, params, _link(link, hosts), _hosts(hosts, replicas))


def reference_of(recipe: Recipe, value: object) -> Recipe:
    """T(1): the same workload, with those of the strategy's options that the reference has too.

    `value` is a strategy's name, or a mapping of options that are to be others; without `strategy` among them it is
    `single`.

    Raises:
        UsageError: it is something else, or names an option that the reference's strategy has not.
    """
    changes = _changes("reference", value, "options that T(1) is to have otherwise, as in {'steps_per_call': 1}")
    with _in_argument("reference"):
        strategy = strategies.get(changes.pop("strategy", "single"))
        if theirs := [key for key in changes if key in recipe.workload_params and key not in strategy.options]:
            raise UsageError(f"{theirs[0]!r} is the workload's, and T(1) trains the marker's own workload")
        options = strategies.resolve_options(strategy, {**_shared(recipe, strategy), **changes})
    return Recipe(strategy.name, options, recipe.workload_params)


def check_layouts(recipe: Recipe, replicas: Iterable[int], argument: str = "") -> None:
    """See to it that its strategy can have so many replicas; `argument` is where the marker has it, if not in itself.

    Raises:
        UsageError: it cannot, or not with these options, or it would take more tasks or replicas than a machine runs.
    """
    with _in_argument(argument):
        for count in replicas:
            layout = strategies.get(recipe.strategy).layout(count, recipe.strategy_options)
            needed = max(layout.workers + layout.ps, count)
            if needed > _MOST:
                asked = plural(count, "replica") + (f" and {plural(layout.ps, 'server')}" if layout.ps else "")
                raise UsageError(
                    f"Strategy {recipe.strategy!r}: {asked} are more than one machine runs; {_MOST} at most."
                )


def check_recipe_device(recipe: Recipe, device: Device, argument: str = "") -> None:
    """See to it that its options can be had on that device; `argument` as in `check_layouts`.

    Raises:
        UsageError: they cannot, or not with a step that XLA compiles, or that it does not.
    """
    strategy = strategies.get(recipe.strategy)
    if isinstance(strategy, DeviceBound):
        with _in_argument(argument):
            strategy.check_device(recipe.strategy_options, device, xla=bool(recipe.workload_params.get("xla")))


def options_apart(reference: Recipe, recipe: Recipe) -> dict[str, Scalar]:
    """The reference's options that its strategy's name does not tell: not at their defaults, or, where it is the
    recipe's own strategy, not as the recipe has them.
    """
    same = reference.strategy == recipe.strategy
    usual = recipe.strategy_options if same else strategies.get(reference.strategy).options
    return {name: value for name, value in reference.strategy_options.items() if value != usual[name]}


def versus_of(workload: WorkloadDefinition, recipe: Recipe, value: object, replicas: tuple[int, ...]) -> Recipe | None:
    """What the recipe is held against; None without a `value`, which is a strategy's name or what differs.

    Raises:
        UsageError: it is something else, does not fit, or differs in nothing.
    """
    if value is None:
        return None
    example = "{'strategy': 'ps_async', 'ps': 2}"
    changes = _changes("versus", value, f"what differs from the marker's own arguments, as in {example}")
    with _in_argument("versus"):
        name = changes.pop("strategy", recipe.strategy)
        inherited = {**recipe.workload_params, **_shared(recipe, strategies.get(name))}
        # Its network is not inherited: hosts name the tasks of one strategy.
        versus = recipe_of(workload, name, {**inherited, **changes}, replicas, others=("strategy",))
    if versus == recipe:
        raise UsageError("argument 'versus' describes the very thing that is measured")
    return versus


@contextmanager
def _in_argument(name: str) -> Iterator[None]:
    """Usage errors within say which of the marker's arguments they are of."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"argument {name!r}: {error}" if name else str(error)) from None


def _changes(argument: str, value: object, otherwise: str) -> dict[str, Any]:
    """A strategy's name, or a mapping, as a mapping; `otherwise` says in a message what a mapping is to hold."""
    if isinstance(value, str):
        return {"strategy": value}
    if not isinstance(value, Mapping) or not value:
        raise UsageError(f"argument {argument!r} takes a strategy, or {otherwise}, not {value!r}")
    if nameless := [key for key in value if not isinstance(key, str)]:
        raise UsageError(f"argument {argument!r} maps names of arguments to values; {nameless[0]!r} is no name")
    return dict(value)


def _shared(recipe: Recipe, strategy: Strategy) -> dict[str, Scalar]:
    return {name: value for name, value in recipe.strategy_options.items() if name in strategy.options}


def _link(value: object, hosts: object) -> Link | None:
    if value is None:
        if hosts is not None:
            raise UsageError("argument 'hosts' needs 'link', the rate of the line that joins them, as in '1gbit'")
        return None
    if not isinstance(value, str):
        raise UsageError(f"argument 'link' takes a rate such as '1gbit', not {value!r}")
    return Link.parse(value)


def _hosts(value: object, replicas: tuple[int, ...]) -> dict[int, tuple[tuple[str, ...], ...]]:
    """The tasks of each host, each host one text; for several counts a mapping by replica count."""
    if value is None:
        return {}
    by_count: Mapping[Any, Any] = value if isinstance(value, Mapping) else dict.fromkeys(replicas, value)
    found: dict[int, tuple[tuple[str, ...], ...]] = {}
    for count, hosts in by_count.items():
        if count not in replicas:
            raise UsageError(f"argument 'hosts' has a value for {count!r} replicas, which the marker does not measure")
        if not isinstance(hosts, (list, tuple)) or not all(isinstance(tasks, str) and tasks.split() for tasks in hosts):
            raise UsageError(
                "argument 'hosts' takes one text of task names for each host, as in ['ps:0 worker:0', 'worker:1'], "
                f"not {hosts!r}"
            )
        found[count] = tuple(tuple(tasks.split()) for tasks in hosts)
    return found
