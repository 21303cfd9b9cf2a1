"""Checks settings given by name against their defaults: a workload's parameters, a strategy's options."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pytest_tfperf.errors import UsageError

SETTING_TYPES = (bool, int, float, str, type(None))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` where something known is close to `word`, else an empty text."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def resolve(
    owner: str, noun: str, defaults: Mapping[str, object], overrides: Mapping[str, object]
) -> dict[str, object]:
    """All settings of `owner`: the defaults, with the overrides that fit them.

    A setting takes values of its default's type; a float takes an int too, and a default of None takes any
    of the types that a setting can have.

    Raises:
        UsageError: an override is unknown or of the wrong type.
    """
    settings = dict(defaults)
    for key, value in overrides.items():
        if key not in defaults:
            known = ", ".join(sorted(defaults)) or "none"
            raise UsageError(f"{owner} has no {noun} {key!r}.{did_you_mean(key, defaults)} It has: {known}.")
        settings[key] = _checked(owner, key, defaults[key], value)
    return settings


def _checked(owner: str, key: str, default: object, value: object) -> object:
    if default is None:
        fits = isinstance(value, SETTING_TYPES)
        wanted = "a bool, int, float or str"
    elif isinstance(default, float):
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        wanted = "a float"
    else:
        # `type(...) is`, since True is an instance of int and `batch_size=True` is a mistake.
        fits = type(value) is type(default)
        wanted = f"{'an' if type(default) is int else 'a'} {type(default).__name__}"
    if not fits:
        raise UsageError(f"{owner}: {key} must be {wanted} like its default {default!r}, not {value!r}.")
    return float(value) if isinstance(default, float) and isinstance(value, int) else value
