"""The report as one page that opens offline: text and tables from Jinja2, charts from Vega-Lite."""

from __future__ import annotations

from pytest_tfperf.report.html.page import to_html

__all__ = ["to_html"]
