"""What the parameters of the built-in models may be: asked of a marker's values before any process starts with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from pytest_tfperf.errors import UsageError

PRECISIONS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Rule:
    """Which values a parameter can have."""

    words: str
    """What follows its name and ``is``."""
    holds: Callable[[Any], bool]

    def check(self, name: str, value: object) -> None:
        """Raises UsageError for a value that the rule does not allow."""
        try:
            allowed = self.holds(value)
        except TypeError:  # no number: a workload that calls another gives it what it likes
            allowed = False
        if not allowed:
            raise UsageError(f"{name} is {self.words}, not {value!r}.")


def at_least(least: int) -> Rule:
    return Rule(f"at least {least}", lambda value: bool(value >= least))


def one_of(*allowed: str) -> Rule:
    return Rule(f"one of {', '.join(allowed)}", lambda value: value in allowed)


COUNT = at_least(1)
# Written so that a NaN fails them.
_FACTOR = Rule("a finite number above 0", lambda value: 0 < value < inf)
_DECAY = Rule("a finite number from 0", lambda value: 0 <= value < inf)
_RATE = Rule("a number from 0 and below 1", lambda value: 0 <= value < 1)

_RULES = {
    **dict.fromkeys(("batch_size", "image_size", "classes", "records", "bottleneck"), COUNT),
    **dict.fromkeys(("features", "hidden", "outputs", "sequence", "layers", "heads", "vocabulary"), COUNT),
    **dict.fromkeys(("ballast", "depth", "hidden_layers"), at_least(0)),
    **dict.fromkeys(("width", "blocks"), _FACTOR),
    "dropout": _RATE,
    "weight_decay": _DECAY,
    "precision": one_of(*PRECISIONS),
    "input": one_of("synthetic", "host"),
}
"""By the names that mean the same in all built-in models."""


def values(together: Callable[..., None] | None = None, **own: Rule) -> Callable[..., None]:
    """A `WorkloadDefinition.check`: each parameter by its rule, its `own` before the common one of its name.

    `together` is asked last, with all parameters by name, for what no rule of one parameter can say.
    """
    rules = {**_RULES, **own}

    def check(**params: object) -> None:
        for name, value in params.items():
            if name in rules:
                rules[name].check(name, value)
        if together is not None:
            together(**params)

    return check


def records_fit(*, input: str, image_size: int, classes: int, **_: object) -> None:
    """Raises UsageError where images of CIFAR's format are to have another size, or other classes."""
    if input == "records" and (image_size, classes) != (32, 10):
        raise UsageError(
            "input='records' has images of 32 x 32 in 10 classes: leave image_size and classes alone, "
            f"not {image_size} and {classes}."
        )
