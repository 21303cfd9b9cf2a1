"""What a real TensorBoard shows of two sessions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.config import Outputs
from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.document import Judgement, SessionReport
from pytest_tfperf.report.tensorboard import METRICS, run_name, write_events
from pytest_tfperf.reporting import write_reports

FIRST, SECOND = "2026-11-27T22:36:48Z", "2026-11-28T22:40:00Z"
ARMS = 60
ODD = "perf tests/../t\u00e9st.py::Test::test_x[a/b::c%20-<i>&?4]"

SERVER = """
import sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # it would import TensorFlow to list files
from tensorboard.main import run_main
run_main()
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    made = canned_report(tmp_path_factory.mktemp("session"), ARMS, 0.004)
    cases = list(made.cases)
    cases[1] = replace(cases[1], id=ODD)
    return replace(made, cases=tuple(cases), started=FIRST)


@pytest.fixture(scope="module")
def second(report: SessionReport) -> SessionReport:
    """A day later: the first arm is 10 % slower, and a test has gone."""
    case = report.cases[0]
    assert case.judgement is not None
    slower = replace(case.judgement.throughput, value=0.9 * case.judgement.throughput.value)
    changed = replace(case, judgement=replace(case.judgement, throughput=slower))
    return replace(report, started=SECOND, cases=(changed, *report.cases[1:-4]), commit="b" * 40)


@pytest.fixture(scope="module")
def folder(report: SessionReport, second: SessionReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events")
    for each in (report, second, second):  # written twice, it is still there once
        write_events(each, folder)
    return folder


class TensorBoard:
    """A server's answers."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opener = build_opener(ProxyHandler({}))

    def get(self, path: str, **query: str) -> Any:
        return self._answer(Request(f"{self._address}data/{path}?{urlencode(query)}"))

    def post(self, path: str, body: object) -> Any:
        data = json.dumps(body).encode()
        return self._answer(Request(f"{self._address}data/{path}", data, {"Content-Type": "application/json"}))

    def _answer(self, request: Request) -> Any:
        with self._opener.open(request, timeout=60) as answer:
            return json.loads(answer.read())

    def scalars(self, run: str, tag: str) -> list[tuple[float, int, float]]:
        found = self.get("plugin/scalars/scalars", run=run, tag=tag)
        return [(wall, step, value) for wall, step, value in found]


@pytest.fixture(scope="module")
def tensorboard(folder: Path) -> Iterator[TensorBoard]:
    options = ["--logdir", str(folder), "--host", "127.0.0.1", "--port", "0", "--load_fast", "false"]
    command = [sys.executable, "-c", SERVER, *options, "--reload_interval", "600"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        errors = process.stderr
        assert errors is not None
        try:
            address = next(found[0] for line in errors if (found := re.search(r"http://[\d.]+:\d+/", line)))
            server = TensorBoard(address)
            runs = {str(path.parent.relative_to(folder)) for path in folder.rglob("*.tfperf")}
            deadline = time.monotonic() + 60
            while set(server.get("runs")) != runs:
                assert time.monotonic() < deadline, runs ^ set(server.get("runs"))
                time.sleep(0.1)
            yield server
        finally:
            process.terminate()
            errors.close()


def judged(report: SessionReport, number: int = 0) -> Judgement:
    judgement = report.cases[number].judgement
    assert judgement is not None
    return judgement


def test_a_curve_has_a_point_for_each_session(
    tensorboard: TensorBoard, report: SessionReport, second: SessionReport
) -> None:
    run = str(run_name(report.cases[0].id))
    assert run == "perf_tests/test_canned.py/test_canned0[1]"
    points = tensorboard.scalars(run, "throughput")
    assert [step for _, step, _ in points] == [1, 2]
    assert [wall for wall, _, _ in points] == [1795819008.0, 1795905600.0]
    values = [judged(each).throughput.value for each in (report, second)]
    assert [value for _, _, value in points] == pytest.approx(values, rel=1e-6)
    for tag in ("efficiency", "step_time"):
        figure = getattr(judged(report), tag)
        assert [value for _, _, value in tensorboard.scalars(run, tag)] == pytest.approx([figure.value] * 2, rel=1e-6)


def test_what_changed_and_the_verdict(tensorboard: TensorBoard, report: SessionReport) -> None:
    number, case = next((i, case) for i, case in enumerate(report.cases) if case.outcome == "failed")
    run = str(run_name(case.id))
    for metric in judged(report, number).metrics:
        (_, _, value), _ = tensorboard.scalars(run, f"change/{metric.metric}")
        assert value == pytest.approx(metric.change.value - 1, abs=1e-6)
    assert [value for _, _, value in tensorboard.scalars(run, "verdict_level")] == [-1, -1]
    texts = tensorboard.get("plugin/text/text", run=run, tag="verdict")
    assert [text["step"] for text in texts] == [1, 2]
    assert "REGRESSED" in texts[0]["text"]
    assert "What moved" in texts[0]["text"]


def test_what_a_task_printed_is_no_markup(tensorboard: TensorBoard, report: SessionReport) -> None:
    case = next(case for case in report.cases if case.outcome == "error")
    run = str(run_name(case.id))
    (text, *_) = tensorboard.get("plugin/text/text", run=run, tag="verdict")
    assert "worker:3 died (SIGKILL)" in text["text"]
    assert "<script>" not in text["text"]
    assert run not in tensorboard.get("plugin/scalars/tags")


def test_the_sessions_themselves(tensorboard: TensorBoard, report: SessionReport, second: SessionReport) -> None:
    for word in ("unchanged", "regressed", "skipped", "improved"):
        counts = [sum(case.word == word for case in each.cases) for each in (report, second)]
        assert [value for _, _, value in tensorboard.scalars("sessions", f"arms/{word}")] == counts
    texts = tensorboard.get("plugin/text/text", run="sessions", tag="tally")
    assert report.tally in texts[0]["text"]


def test_the_experiment_of_hparams(tensorboard: TensorBoard) -> None:
    experiment = tensorboard.post("plugin/hparams/experiment", {"experimentName": ""})
    names = {info["name"]: info for info in experiment["hparamInfos"]}
    for name in ("session", "workload", "strategy", "replicas", "device", "environment", "variant", "verdict"):
        assert name in names
    assert "workload.batch_size" in names
    assert set(names["session"]["domainDiscrete"]) == {FIRST, SECOND}
    metrics = {(info["name"].get("group", ""), info["name"]["tag"]) for info in experiment["metricInfos"]}
    assert metrics == {("", tag) for tag in METRICS}


def rows(tensorboard: TensorBoard, *statuses: str) -> dict[str, dict[str, Any]]:
    """Rows of HParams by run."""
    body = {
        "experimentName": "",
        "startIndex": 0,
        "sliceSize": 1000,
        "allowedStatuses": [f"STATUS_{status}" for status in statuses],
        "colParams": [],
    }
    answer = tensorboard.post("plugin/hparams/session_groups", body)
    return {group["sessions"][0]["name"]: group for group in cast("list[dict[str, Any]]", answer["sessionGroups"])}


def test_a_row_for_every_arm_of_every_session(
    tensorboard: TensorBoard, report: SessionReport, second: SessionReport
) -> None:
    found = rows(tensorboard, "SUCCESS", "FAILURE")
    measured = [
        case for each in (report, second) for case in each.cases if case.outcome in ("passed", "failed", "error")
    ]
    assert len(found) == len(measured)
    for each, name in ((report, "2026-11-27T223648Z"), (second, "2026-11-28T224000Z")):
        group = found[f"perf_tests/test_canned.py/test_canned0[1]/{name}"]
        hparams = group["hparams"]
        assert hparams["workload"] == "mlp"
        assert hparams["strategy"] == "multi_worker_mirrored"
        assert hparams["variant"] == "canned0"
        assert (hparams["replicas"], hparams["device"]) == (1, "cpu")
        assert hparams["environment"] == each.places["cpu"].name
        assert hparams["session"] == each.started
        assert hparams["workload.batch_size"] == 128
        assert hparams["verdict"] == str(judged(each).verdict)
        metrics = {value["name"]["tag"]: value["value"] for value in group["metricValues"]}
        expected = {tag: getattr(judged(each), tag).value for tag in METRICS}
        assert metrics == pytest.approx(expected, rel=1e-6)


def test_failed_arms_have_failed(tensorboard: TensorBoard, report: SessionReport, second: SessionReport) -> None:
    failed = rows(tensorboard, "FAILURE")
    cases = [case for each in (report, second) for case in each.cases if case.outcome in ("failed", "error")]
    assert len(failed) == len(cases)
    words = [group["hparams"]["verdict"] for group in failed.values()]
    assert sorted(set(words)) == ["error", "regressed"]
    error = next(group for group in failed.values() if group["hparams"]["verdict"] == "error")
    assert not error.get("metricValues")


def test_names_that_no_folder_should_have(tensorboard: TensorBoard, folder: Path, report: SessionReport) -> None:
    run = str(run_name(ODD))
    assert (folder / run).is_dir()
    assert len(tensorboard.scalars(run, "throughput")) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py::t[x/y]", "a.py::t[x-y]"),
        ("a.py::t[x y]", "a.py::t[x\ty]"),
        ("a.py::t[../x]", "a.py::t[.-x]"),
        ("../a.py::t", "a.py::t"),
        ("../../../etc/a.py::t", "../../etc/a.py::t"),
        ("a.py::t[" + 300 * "x" + "]", "a.py::t[" + 301 * "x" + "]"),
        ("\u00e4.py::t", "\u00f6.py::t"),
        ("a.py::t[\ud800]", "a.py::t[\ud801]"),
        ("/a.py::t", "a.py::t"),
    ],
)
def test_unlike_tests_have_unlike_folders(one: str, other: str) -> None:
    paths = [run_name(name) for name in (one, other)]
    assert paths[0] != paths[1]
    for path in paths:
        assert not path.is_absolute()
        assert all(re.fullmatch(r"[\w+=,@\[\]-][\w.+=,@\[\] -]{0,119}", part, re.ASCII) for part in path.parts)


def test_writing_imports_no_tensorflow(report: SessionReport, tmp_path: Path) -> None:
    # In a process of its own: the tests around this one may have imported it.
    from pytest_tfperf.report.json_file import to_json

    (tmp_path / "a.json").write_bytes(to_json(report))
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from pytest_tfperf.report.json_file import read_json\n"
        "from pytest_tfperf.report.tensorboard import write_events\n"
        "assert 'tensorboard' not in sys.modules\n"
        f"write_events(read_json(Path({str(tmp_path / 'a.json')!r})), Path({str(tmp_path / 'events')!r}))\n"
        "assert 'tensorboard' in sys.modules\n"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_session_writes_them_where_it_was_asked_to(report: SessionReport, tmp_path: Path) -> None:
    (written,) = write_reports(report, Outputs(tensorboard=tmp_path / "events"))
    assert (written.text, written.failed) == (f"TensorBoard events: {tmp_path / 'events'}", False)
    assert len(list((tmp_path / "events" / "sessions").iterdir())) == 1
    assert not list((tmp_path / "events").rglob("*.tmp"))


def test_a_place_that_cannot_be_written(report: SessionReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"file.*: cannot be written: Not a directory"):
        write_events(report, tmp_path / "file")


def test_without_tensorboard(report: SessionReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    with pytest.raises(ReportError, match=r"pip install 'pytest-tfperf\[tensorboard\]'"):
        write_events(report, tmp_path / "events")
