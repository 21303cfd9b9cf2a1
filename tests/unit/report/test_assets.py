"""The libraries are those that were looked at, and can stand between script tags."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

import pytest

from pytest_tfperf.report.html.assets import charts, inline, own_script, style, table_script

VENDOR = files("pytest_tfperf.report.html") / "vendor"
ROW = re.compile(r"^\| ([\w.@/-]+) \| ([\d.]+) \| \S+ \| (\S+) \| \S+ \| ([0-9a-f]{64}) \|$", re.MULTILINE)
ROWS = ROW.findall((VENDOR / "README.md").read_text())


def test_the_table_names_all_that_is_there() -> None:
    named = {name for _, _, name, _ in ROWS} | {f"LICENSE.{package}" for package, _, _, _ in ROWS} | {"README.md"}
    assert {each.name for each in VENDOR.iterdir()} == named
    assert len(ROWS) == 4


@pytest.mark.parametrize(("package", "version", "name", "digest"), ROWS)
def test_checksum_and_version(package: str, version: str, name: str, digest: str) -> None:
    data = (VENDOR / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest, f"{name} is not that of {package} {version}: make vendor"
    assert version in data.decode()
    assert "opyright" in (VENDOR / f"LICENSE.{package}").read_text()


def test_they_can_stand_in_a_script_element() -> None:
    for script in (charts(), table_script()):
        assert not re.search(r"</script|<!--|sourceMappingURL", script, re.IGNORECASE)
    assert "vegaEmbed" in charts()
    assert "DataTable" in table_script()
    assert "</style" not in style()


@pytest.mark.parametrize("text", ["'</script>'", "'</SCRIPT >'", "'<!-- '", "/<\\/script/"])
def test_inlined_text_means_the_same(text: str) -> None:
    made = inline(text)
    assert "</script" not in made.lower()
    assert "<!--" not in made
    assert made.replace(r"\x3C", "<") == text


def test_no_script_of_that_name() -> None:
    with pytest.raises(FileNotFoundError):
        own_script("none.js")
