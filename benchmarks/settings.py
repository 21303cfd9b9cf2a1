"""Settings of a workload or a strategy, as a command line has them."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_tfperf.errors import UsageError


def setting(text: str) -> tuple[str, object]:
    """``NAME=VALUE`` as a name and a bool, an int, a float, or else a string.

    Raises:
        UsageError: it is something else.
    """
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"a setting is NAME=VALUE, not {text!r}.")
    for read in (int, float):
        try:
            return name, read(value)
        except ValueError:
            continue
    return name, {"true": True, "false": False}.get(value.lower(), value)


def settings(texts: Iterable[str]) -> dict[str, object]:
    """All of them by name; raises UsageError as `setting` does."""
    return dict(map(setting, texts))
