"""Renews the JavaScript libraries that the HTML pages carry: `make vendor`. Needs npm.

The table in the vendor folder's README names packages, versions and files, and is written anew.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "pytest_tfperf" / "report" / "html" / "vendor"
_ROW = re.compile(r"^\| ([\w.@/-]+) \| (\d+)[\d.]* \| (\S+) \| (\S+) \| (\S+) \| [0-9a-f]* \|$", re.MULTILINE)


def renewed(row: re.Match[str]) -> str:
    """Fetch a package, copy its file and licence, and give its row of the table."""
    package, major, source, name, licence = row.groups()
    with tempfile.TemporaryDirectory(prefix="vendor-") as folder:
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{package}@{major}"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        with tarfile.open(Path(folder, packed)) as archive:
            archive.extractall(folder, filter="data")
        found = Path(folder, "package")
        shutil.copyfile(found / source, VENDOR / name)
        shutil.copyfile(found / licence, VENDOR / f"LICENSE.{package}")
    version = packed.removesuffix(".tgz").rpartition("-")[2]
    digest = hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()
    print(f"{package} {version}")
    return f"| {package} | {version} | {source} | {name} | {licence} | {digest} |"


def main() -> None:
    readme = VENDOR / "README.md"
    text, count = _ROW.subn(renewed, readme.read_text())
    if not count:
        raise SystemExit(f"{readme}: no row of the table was understood")
    readme.write_text(text)


if __name__ == "__main__":
    main()
