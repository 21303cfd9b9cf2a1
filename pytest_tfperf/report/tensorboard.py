"""A session for TensorBoard: curves for every arm over the sessions, and a row in HParams for each arm of each session.

    DIR/sessions/                                             verdicts and duration of every session
    DIR/perf_tests/test_a.py/test_a[4]/                       the arm's curves, an event file for each session
    DIR/perf_tests/test_a.py/test_a[4]/2026-11-28T010322Z/    the arm in that session: its row in HParams

A point's step is the session's number in DIR, its wall time the session's start. Written with TensorBoard's own
messages and record writer; not with its EventFileWriter, which imports TensorFlow where that is installed.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_tfperf.errors import ReportError
from pytest_tfperf.files import followed
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, Judgement, SessionReport

SESSIONS = "sessions"
"""The run of the sessions themselves."""

METRICS = {
    "throughput": "examples/s of the whole job",
    "efficiency": "E(N) = T(N) / (N x T(1)), a fraction",
    "step_time": "seconds that a replica needs for a step",
}
"""Tags that are metrics in HParams, and what they are."""
_ABOUT = {
    **METRICS,
    "reference_throughput": "T(1), examples/s",
    "speedup": "S(N), throughput over that of what it is held against",
    "change/reference": "T(1) now / baseline - 1: below 0 is slower",
    "change/throughput": "T(N) now / baseline - 1: below 0 is slower",
    "change/efficiency": "E(N) now / baseline - 1: below 0 is worse",
    "verdict_level": "-1 regressed, 0 not decided, 1 unchanged, 2 improved",
    "seconds": "what the session took",
}
_LEVELS = {Verdict.REGRESSED: -1, Verdict.UNCHANGED: 1, Verdict.IMPROVED: 2}
_SAFE = re.compile(r"[\w+=,@\[\]-][\w.+=,@\[\] -]{0,119}", re.ASCII)
_UNSAFE = re.compile(r"[^\w.+=,@\[\] -]+", re.ASCII)


def write_events(report: SessionReport, folder: Path) -> None:
    """Add a session to a folder that TensorBoard reads; the same session again replaces what it wrote.

    Raises:
        ReportError: TensorBoard is not installed, or a file cannot be written.
    """
    try:
        session = _Session(report, folder)
        for case in report.cases:
            if case.judgement is not None:
                session.add_measured(case, case.judgement)
            elif case.outcome == "error":
                session.add_lost(case)
        session.add_sums()
    except ImportError as error:
        raise ReportError(f"TensorBoard cannot be used ({error}): pip install 'pytest-tfperf[tensorboard]'") from error
    except OSError as error:
        raise ReportError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from error


def run_name(nodeid: str) -> Path:
    """Folder of a test's curves: its file's path, then the names in it; unlike tests have unlike folders.

    What no file system or URL should have to bear is replaced, with a number that keeps two such names apart.
    """
    names, bracket, parameters = nodeid.partition("[")
    *folders, last = names.replace("::", "/").split("/")
    return Path(*map(_component, [*folders, last + bracket + parameters]))


def _component(name: str) -> str:
    if _SAFE.fullmatch(name) and not name.endswith((" ", ".")):
        return name
    number = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_UNSAFE.sub('-', name)[:100].strip('. -')}-{number}".lstrip("-")


class _Session:
    """Writes one session's event files."""

    def __init__(self, report: SessionReport, folder: Path) -> None:
        self._report = report
        self._folder = folder
        self._start = datetime.fromisoformat(report.started.replace("Z", "+00:00")).timestamp()
        self._name = _component(report.started.replace(":", ""))
        identity = f"{report.started} {report.seconds!r} {report.arguments}"
        # Ten digits, as TensorBoard reads the files of a run in the order of their names.
        number = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._file = f"events.out.tfevents.{int(self._start):010}.{number}.tfperf"
        self._step = _number_in(folder / SESSIONS, self._file)

    def add_measured(self, case: Case, judged: Judgement) -> None:
        run = self._folder / run_name(case.id)
        values = dict(_figures(judged))
        text = case.text or judged.view.headline
        self._write(run, [*_scalars(values), _text("verdict", text)])
        passed = case.outcome == "passed"
        row = _row(self._report, case, str(judged.verdict), self._start, passed)
        self._write(run / self._name, [*_scalars({tag: values[tag] for tag in METRICS}), *row])

    def add_lost(self, case: Case) -> None:
        """An arm without a result is a row that failed, and a gap in its curves."""
        run = self._folder / run_name(case.id)
        self._write(run, [_text("verdict", case.text)])
        self._write(run / self._name, _row(self._report, case, case.outcome, self._start, passed=False))

    def add_sums(self) -> None:
        """The session's own run. It comes last: its files count the sessions that are complete."""
        report = self._report
        counts = Counter(case.word for case in report.cases)
        words = dict.fromkeys([*map(str, Verdict), *counts])
        arms = {f"arms/{_component(word)}": float(counts[word]) for word in words}
        lines = [report.tally, *report.findings, f"not decided: {report.left_open}" if report.left_open else ""]
        values = [*_scalars({**arms, "seconds": report.seconds}), _text("tally", "\n".join(filter(None, lines)))]
        self._write(self._folder / SESSIONS, values)

    def _write(self, run: Path, values: Iterable[Any]) -> None:
        """Give a run this session's event file, whole or not at all."""
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        buffer = io.BytesIO()
        writer = RecordWriter(buffer)
        version = event_pb2.Event(wall_time=self._start, file_version="brain.Event:2")
        summary = summary_pb2.Summary(value=values)
        for event in (version, event_pb2.Event(wall_time=self._start, step=self._step, summary=summary)):
            writer.write(event.SerializeToString())
        followed(run / self._file)
        run.mkdir(parents=True, exist_ok=True)
        temporary = run / f".{os.getpid()}-{secrets.token_hex(4)}.tmp"  # a name that TensorBoard does not read
        try:
            with temporary.open("xb") as file:  # never through a link that is there already
                file.write(buffer.getvalue())
            os.replace(temporary, run / self._file)
        finally:
            temporary.unlink(missing_ok=True)


def _number_in(folder: Path, file: str) -> int:
    """Number of a session in the order of time, from 1."""
    try:
        known = {name for name in os.listdir(folder) if name.endswith(".tfperf")}
    except FileNotFoundError:
        known = set()
    return sorted({*known, file}).index(file) + 1


def _figures(judged: Judgement) -> Iterator[tuple[str, float]]:
    yield "throughput", judged.throughput.value
    yield "efficiency", judged.efficiency.value
    yield "step_time", judged.step_time.value
    yield "reference_throughput", judged.reference.value
    if judged.speedup is not None:
        yield "speedup", judged.speedup.value
    for metric in judged.metrics:
        yield f"change/{metric.metric}", metric.change.value - 1
    yield "verdict_level", _LEVELS.get(judged.verdict, 0)


def _scalars(values: Mapping[str, float]) -> Iterator[Any]:
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

    for tag, value in values.items():
        metadata = SummaryMetadata(summary_description=_ABOUT.get(tag, "how many arms"))
        yield Summary.Value(tag=tag, simple_value=value, metadata=metadata)


def _text(tag: str, text: str) -> Any:
    """A text for TensorBoard's tab of that name, which takes Markdown: as code, so that a table keeps its columns."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.text.metadata import create_summary_metadata
    from tensorboard.util.tensor_util import make_tensor_proto

    code = "\n".join(f"    {line}" for line in text.splitlines())
    tensor = make_tensor_proto(code.encode("utf-8", "replace"))
    return Summary.Value(tag=tag, metadata=create_summary_metadata(tag, ""), tensor=tensor)


def _row(report: SessionReport, case: Case, verdict: str, start: float, passed: bool) -> list[Any]:
    """A row of HParams: what was measured, where, and when. `hparams.summary` has this too, but imports TensorFlow."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.api_pb2 import Status
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    begin = SessionStartInfo(start_time_secs=start)
    for key, value in _hyperparameters(report, case, verdict):
        if isinstance(value, bool):
            begin.hparams[key].bool_value = value
        elif isinstance(value, (int, float)):
            begin.hparams[key].number_value = value
        elif value:
            begin.hparams[key].string_value = value.encode("utf-8", "replace").decode()
    status = Status.Value("STATUS_SUCCESS" if passed else "STATUS_FAILURE")
    end = SessionEndInfo(status=status, end_time_secs=start + report.seconds)
    return [
        Summary.Value(tag=tag, metadata=metadata.create_summary_metadata(data), tensor=metadata.NULL_TENSOR)
        for tag, data in (
            (metadata.SESSION_START_INFO_TAG, HParamsPluginData(session_start_info=begin)),
            (metadata.SESSION_END_INFO_TAG, HParamsPluginData(session_end_info=end)),
        )
    ]


def _hyperparameters(report: SessionReport, case: Case, verdict: str) -> Iterator[tuple[str, Scalar]]:
    yield "session", report.started
    yield "test", case.id
    yield "verdict", verdict
    yield "workload", case.workload
    yield "strategy", case.strategy
    yield "variant", case.variant
    yield "replicas", case.replicas
    yield "device", case.device
    sweep, place = report.sweep_of(case), report.places.get(case.device)
    if place is not None:
        yield "environment", place.name
        yield from ((f"environment.{key}", value) for key, value in place.soft.items())
    yield "commit", report.commit[:7]
    if sweep is not None:
        yield from ((key, value) for key, value in sweep.definition.items() if key != "device")
