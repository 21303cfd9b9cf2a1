"""The files of docs/ci, and the shell commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

DOCS = Path(__file__).parents[2] / "docs"
CI = DOCS / "ci"
GITHUB = sorted(CI.glob("github-*.yml"))
GITLAB = CI / "gitlab-ci.yml"
JENKINS = CI / "Jenkinsfile"


def steps(file: Path) -> dict[str, str]:
    """The scripts of a file, by the name of their step, job or stage."""
    if file == JENKINS:
        stages = re.finditer(r"stage\('([^']*)'\)(.*?)'''\n(.*?)'''", file.read_text(), flags=re.DOTALL)
        # In a Groovy string a backslash at the end of a line joins it with the next one.
        return {match[1]: match[3].replace("\\\n", "") for match in stages}
    content = YAML(typ="safe").load(file)
    if file == GITLAB:
        jobs = {name: job for name, job in content.items() if isinstance(job, dict)}
        return {name: "\n".join(job.get("script") or job["before_script"]) for name, job in jobs.items()}
    return dict(_github_steps(content))


def _github_steps(workflow: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            if "run" in step:
                yield f"{name}: {step['name']}", step["run"]


def pytest_arguments(script: str) -> list[list[str]]:
    """What each pytest in a script is given."""
    lines = [shlex.split(line, comments=True) for line in script.replace("\\\n", " ").splitlines()]
    return [line[line.index("pytest") + 1 :] for line in lines if line[1:3] == ["-m", "pytest"]]


def every_script() -> list[tuple[Path, str, str]]:
    """File, name and text of every script."""
    return [(file, name, script) for file in (*GITHUB, GITLAB, JENKINS) for name, script in steps(file).items()]
