"""The report as one page that opens offline: text and tables from Jinja2, charts from Vega-Lite."""
