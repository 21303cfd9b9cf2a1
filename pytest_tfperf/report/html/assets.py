"""What every HTML page carries in itself: libraries, our own scripts and the style, safe to put between tags."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HERE = files("pytest_tfperf.report.html")


@cache
def charts() -> str:
    """JavaScript of vega, vega-lite and vega-embed, for one script element; it defines `vegaEmbed`.

    A page whose policy forbids `eval` passes `ast: true` to `vegaEmbed`.
    """
    return "\n".join(_library(name) for name in ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js"))


@cache
def table_script() -> str:
    """JavaScript of DataTables, for one script element; it defines `DataTable`."""
    return _library("dataTables.min.js")


@cache
def style() -> str:
    """CSS that all pages share, for one style element: light and dark, print, phone."""
    return _HERE.joinpath("static", "style.css").read_text(encoding="utf-8")


@cache
def style_of_reports() -> str:
    """CSS of the session report alone, to follow `style()`."""
    return _HERE.joinpath("static", "report.css").read_text(encoding="utf-8")


@cache
def own_script(name: str) -> str:
    """One of our own scripts, for one script element."""
    return inline(_HERE.joinpath("static", name).read_text(encoding="utf-8"))


def inline(script: str) -> str:
    """JavaScript that means the same and neither ends its script element nor begins a comment there.

    Of https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    return re.sub(r"<(?=/script|!--)", r"\\x3C", script, flags=re.IGNORECASE)


def _library(name: str) -> str:
    text = _HERE.joinpath("vendor", name).read_text(encoding="utf-8")
    # A browser's tools would try to fetch the source map.
    return inline(re.sub(r"^//# sourceMappingURL=.*$", "", text, flags=re.MULTILINE).strip())
