"""Coverage-guided fuzzing of what reads files and words that others wrote: `make fuzz`.

Or one target alone:

    python -m tools.fuzz TARGET [--seconds 180] [--corpus FOLDER]

Needs the extra `fuzz`. Each target says what must hold for any input; whatever else is raised ends the run with the
input in a file `crash-*`. A target imports what it reads with only when it is made, so that this is instrumented. The
inputs that reach new code are kept in the corpus, and are where the next run begins.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Target = Callable[[bytes], None]
_LONGEST = {"report": 65_536}
"""Bytes of an input, where it may have more than 4096."""


def baseline_target() -> Target:
    """A baseline is read alike by the quick reader and the parser, or refused with a FileProblem."""
    from pytest_tfperf.baseline import codec, migrations, plain, validation, writer

    def read(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        quick = plain.read_plain(text)
        try:
            document = codec.parse(text)
        except codec.FileProblem:
            assert quick is None, "the quick reader reads what the parser refuses"
            return
        assert quick is None or repr(quick) == repr(document.data), "the readers differ"
        written = writer.render(document.data, document)
        assert codec.parse(written).data == document.data, "what is written is read otherwise"
        with contextlib.suppress(codec.FileProblem):
            validation.validate(migrations.migrate(document))

    return read


def report_target() -> Target:
    """A report is read or refused with a ReportError; what is read can be written, shown and compared."""
    from pytest_tfperf import errors
    from pytest_tfperf.command import sides
    from pytest_tfperf.report import json_file, markdown

    def read(data: bytes) -> None:
        with contextlib.suppress(errors.ReportError):
            report = json_file.from_json(data, "fuzz.json")
            assert json_file.from_json(json_file.to_json(report), "again") == report
            markdown.to_markdown(report)
            sides._of_report(Path("fuzz.json"), report)

    return read


def marker_target() -> Target:
    """A marker's arguments give a spec or a UsageError."""
    import atheris
    import pytest

    from pytest_tfperf import errors, marker, recipes
    from pytest_tfperf.strategies import registry as strategies

    options = sorted({option for name in strategies.names() for option in strategies.get(name).options})
    names = [*marker._ARGUMENTS, *recipes.NETWORK, "batch_size", "xla", *options]
    known = list(strategies.names())

    def read(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        kwargs = {given.PickValueInList(names): _value(given) for _ in range(given.ConsumeIntInRange(0, 6))}
        if given.ConsumeBool():
            kwargs |= {"strategy": given.PickValueInList(known), "replicas": [1, 2]}
        mark = pytest.mark.tfperf.with_args("mlp", **kwargs).mark
        with contextlib.suppress(errors.UsageError):
            device = given.PickValueInList(["cpu", "gpu"])
            marker.check_device(marker.sweep_spec(mark, "test_a.py::test_a", device))

    return read


def protocol_target() -> Target:
    """Lines from the other side of --tfperf-against are messages or a ProtocolError, and never wait."""
    import atheris

    from pytest_tfperf.against import protocol

    offer = protocol.as_message(protocol.Offer(1, "/x", {"a.py::b": protocol.TestOffer({"x": 1}, (1, 2), "cpu", 60.0)}))
    measurement = protocol.as_message(protocol.Measurement(10.0, 0.1))

    def read(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        raw = given.ConsumeBytes(given.ConsumeIntInRange(0, 40))
        changed = json.loads(json.dumps({**offer, **measurement}))
        for _ in range(given.ConsumeIntInRange(0, 3)):
            place = changed
            if given.ConsumeBool() and isinstance(changed.get("tests"), dict):
                place = changed["tests"].get("a.py::b", place)
            if isinstance(place, dict):
                place[given.PickValueInList([*offer, *measurement, "definition", "replicas", "timeout"])] = _value(
                    given
                )
        ours, theirs = socket.socketpair()
        line = protocol.Line(ours)
        try:
            theirs.sendall(raw + b"\n" + json.dumps(changed).encode() + b"\n" + raw)
            theirs.close()
            while True:
                try:
                    message = line.receive(1.0)
                except protocol.ProtocolError:
                    continue
                for reader in (protocol.read_offer, protocol.read_measurement):
                    with contextlib.suppress(protocol.ProtocolError):
                        reader(message)
        except EOFError:
            pass
        finally:
            line.close()
            theirs.close()

    return read


def _value(given: Any, depth: int = 0) -> Any:
    """Plain data, as JSON or a literal in Python has it."""
    kind = given.ConsumeIntInRange(0, 9 if depth < 3 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return given.ConsumeBool()
    if kind in (2, 3):
        return given.ConsumeIntInRange(-2, 5) if kind == 2 else given.ConsumeInt(10)
    if kind == 4:
        return given.ConsumeFloat()
    if kind == 5:
        return given.PickValueInList(["mirrored", "ps_async", "single", "1gbit", "worker:0", "ps:0 worker:1", "a-b_1"])
    if kind == 6:
        return given.ConsumeUnicodeNoSurrogates(6)
    count = given.ConsumeIntInRange(0, 3)
    if kind == 7:
        return [_value(given, depth + 1) for _ in range(count)]
    keys = [given.ConsumeIntInRange(0, 3) if kind == 8 else given.ConsumeUnicodeNoSurrogates(5) for _ in range(count)]
    return {key: _value(given, depth + 1) for key in keys}


TARGETS = {
    "baseline": baseline_target,
    "report": report_target,
    "marker": marker_target,
    "protocol": protocol_target,
}


def seeds(target: str) -> Iterable[bytes]:
    """Inputs that are whole, so that the fuzzer begins behind the first checks."""
    top = Path(__file__).parents[1]
    if target == "baseline":
        for path in sorted((top / "baselines").glob("*/*.yaml"))[:3]:
            yield path.read_bytes()[:4096]
        yield b"schema_version: 3\na: [1, 2.5, 'x']\nb:\n  c: {}\n  # comment\n  d: null\n"
    elif target == "report":
        from benchmarks.canned_report import canned_report
        from pytest_tfperf.report.json_file import to_json

        with tempfile.TemporaryDirectory() as folder:
            yield to_json(canned_report(Path(folder), 1, rounds=2))
        yield b'{"schema_version": 1, "cases": []}'
    else:
        yield bytes(range(256))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=180, help="how long to look (default 180)")
    parser.add_argument("--corpus", type=Path, help="folder of the inputs that are kept (default: a temporary one)")
    given = parser.parse_args()
    import atheris

    with tempfile.TemporaryDirectory() as temporary:
        corpus = given.corpus or Path(temporary)
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds(given.target)):
            (corpus / f"seed-{number}").write_bytes(seed)
        with atheris.instrument_imports(include=["pytest_tfperf"]):
            target = TARGETS[given.target]()
        options = [
            f"-max_total_time={given.seconds}",
            f"-max_len={_LONGEST.get(given.target, 4096)}",
            "-timeout=10",
            "-rss_limit_mb=2048",
        ]
        # It ends the process itself, past any cleaning up.
        atheris.Setup([sys.argv[0], *options, str(corpus)], target, enable_python_coverage=True)
        atheris.Fuzz()
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
