"""The Jenkinsfile is Groovy, and a declarative pipeline.

Jenkins itself is the one to ask, and has no validator without a server or Java. So the syntax is checked by a parser of
Groovy, and the structure against the sections and directives that Jenkins documents for declarative pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tree_sitter_groovy
from tree_sitter import Language, Node, Parser

from tests.docs.ci_files import JENKINS

PARSER = Parser(Language(tree_sitter_groovy.language()))
TEXT = JENKINS.read_text()

PIPELINE = {"agent", "environment", "libraries", "options", "parameters", "post", "stages", "tools", "triggers"}
STAGE = {"agent", "environment", "input", "options", "post", "steps", "tools", "when", "stages", "parallel", "matrix"}
OPTIONS = {"buildDiscarder", "disableConcurrentBuilds", "lock", "retry", "skipDefaultCheckout", "timeout", "timestamps"}
WHEN = {"allOf", "anyOf", "branch", "changeRequest", "environment", "expression", "not", "triggeredBy"}
POST = {
    "always",
    "cleanup",
    "failure",
    "fixed",
    "regression",
    "success",
    "unstable",
    "unsuccessful",
    "changed",
    "aborted",
}
INSIDE = {
    "options": OPTIONS,
    "post": POST,
    "when": WHEN,
    "not": WHEN,
    "stages": {"stage"},
    "triggers": {"cron", "pollSCM", "upstream"},
    "parameters": {"booleanParam", "string", "text", "choice", "password"},
    "steps": {"sh"},
    "always": {"junit", "archiveArtifacts", "publishHTML"},
}
"""What this file may have in each block; in `steps` and `post`, what it has."""


def problems(text: str) -> list[str]:
    """What is wrong with a pipeline."""
    tree = PARSER.parse(text.encode())
    if tree.root_node.has_error:
        return ["not Groovy"]
    blocks = list(_blocks(tree.root_node))
    if [name for name, _ in blocks] != ["pipeline"]:
        return [f"not one pipeline but {[name for name, _ in blocks]}"]
    return list(_problems("pipeline", blocks[0][1]))


def _problems(name: str, block: Node) -> Iterator[str]:
    inside = list(_blocks(block))
    names = [found for found, _ in inside]
    if name == "pipeline":
        yield from (f"pipeline has no {needed}" for needed in ("agent", "stages") if needed not in names)
    if name == "stage" and len({"steps", "stages", "parallel", "matrix"} & set(names)) != 1:
        yield f"a stage with {names} does nothing, or two things"
    allowed = {"pipeline": PIPELINE, "stage": STAGE, **INSIDE}.get(name)
    for found, child in inside:
        if allowed is not None and found not in allowed:
            yield f"{name} has {found}"
        if found not in ("expression", "agent"):
            yield from _problems(found, child)
    if name in ("pipeline", "stage"):
        yield from (f"{name} has two of {twice}" for twice in {each for each in names if names.count(each) > 1})


def _blocks(node: Node) -> Iterator[tuple[str, Node]]:
    """The calls of a block, by name, each with its own block or itself."""
    for statement in node.named_children:
        call = statement.named_children[0] if statement.type == "expression_statement" else statement
        name = call.child_by_field_name("name") or (call.named_children[0] if call.named_children else None)
        if call.type not in ("method_invocation", "command_expression") or name is None or name.text is None:
            continue
        closures = [child for child in _under(call) if child.type == "closure"]
        yield name.text.decode(), closures[0] if closures else call


def _under(node: Node) -> Iterator[Node]:
    """Children and theirs, but for what is inside of a block."""
    for child in node.named_children:
        yield child
        if child.type != "closure":
            yield from _under(child)


def test_it_is_a_declarative_pipeline() -> None:
    assert problems(TEXT) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("agent { label 'gpu' }", "agent { label 'gpu' ", "not Groovy"),
        ("agent { label 'gpu' }", "", "pipeline has no agent"),
        ("    options {", "    optons {", "pipeline has optons"),
        ("disableConcurrentBuilds()", "disableConcurrentBuild()", "options has disableConcurrentBuild"),
        ("            steps {", "            step {", "stage has step"),
        ("        always {", "        allways {", "post has allways"),
        ("        stage('Gate') {", "        stag('Gate') {", "stages has stag"),
        ("not { changeRequest() }", "not { changeRequests() }", "not has changeRequests"),
        ("    post {", "    stages {", "pipeline has two of stages"),
        ("pipeline {", "node {", "not one pipeline but ['node']"),
    ],
)
def test_the_check_can_fail(old: str, new: str, problem: str) -> None:
    assert old in TEXT
    assert problem in problems(TEXT.replace(old, new, 1))


def test_what_the_page_says_of_it() -> None:
    for part in (
        "disableConcurrentBuilds()",
        "lock(resource:",
        "cron('H 2 * * *')",
        "keepProperties: true",
        "publishHTML",
    ):
        assert part in TEXT
