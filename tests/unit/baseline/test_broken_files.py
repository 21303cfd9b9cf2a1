"""Every way in which a file can be broken gives one BaselineError, which names the file, the line and what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tfperf.baseline.codec import FileProblem, parse
from pytest_tfperf.baseline.migrations import migrate
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.baseline.validation import validate
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.environment import Environment

ENVIRONMENT = Environment({"cpu_model": "x", "cpu_cores": 2, "hosts": 1}, {"python": "3.12"})
ENTRY = BaselineEntry(
    workload="mlp",
    strategy="single",
    variant=None,
    replicas=1,
    definition={"batch": 32},
    hard=ENVIRONMENT.hard,
    sessions=(
        BaselineSession(
            provenance=Provenance("2026-11-27T22:36:48Z", "a1b2c3d", True, "test_a.py::test_a"),
            soft=ENVIRONMENT.soft,
            reference_throughput=(100.5, 101.5),
            reference_step_time=(0.25, 0.26),
            throughput=(102.5, 103.5),
            step_time=(0.27, 0.28),
        ),
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    [saved] = BaselineStore(tmp_path).save([ENTRY])
    return saved.path


def check_refused(path: Path, message: str) -> None:
    """Reading and saving both fail alike, and the file stays as it was."""
    store = BaselineStore(path.parents[1])
    before = os.stat(path)
    for attempt in (
        lambda: store.find(ENVIRONMENT, "mlp-single", 1),
        lambda: store.limits(ENVIRONMENT, "mlp-single", 1),
        lambda: store.save([ENTRY]),
    ):
        with pytest.raises(BaselineError, match=message) as caught:
            attempt()
        text = str(caught.value)
        assert str(path) in text
        assert text.endswith(".")
        assert "\n" not in text
        assert len(text) < 600
    after = os.stat(path)
    assert (before.st_ino, before.st_mtime_ns, before.st_size) == (after.st_ino, after.st_mtime_ns, after.st_size)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("batch: 32", "batch: !!python/object/apply:os.system ['true']", "line 7: a tag"),
        ("batch: 32", "batch: !!str 32", "line 7: a tag"),
        ("batch: 32", "batch: &a 32", "line 7: an anchor"),
        ("batch: 32", "batch: *a", "line 7: an alias"),
        ("batch: 32", "batch: 32\n  batch: 33", "line 8: the key batch is there twice"),
        ("batch: 32", "batch: |\n    text", "line 7: a text block"),
        ("batch: 32", "batch: [32]", "line 7: definition.batch must be"),
        ("batch: 32", "batch: [[32]]", "line 7: a list may only"),
        ("batch: 32", "batch: .nan", "line 7: .nan is not a finite"),
        ("batch: 32", "[1]: 32", "line 7: a key must be"),
        ("batch: 32", "true: 32", "line 7: a key must be"),
        ("batch: 32", "1: 32", "line 7: definition.1 must be"),
        ("batch: 32", "batch: " + "[" * 50, "line 7: it is nested too deeply"),
        ("batch: 32", "batch: " + "9" * 5000, "line 7: 9+ is not a finite decimal"),
        ("batch: 32", "\tbatch: 32", "not valid YAML"),
        ("batch: 32", "batch: 'x", "not valid YAML"),
        ("batch: 32", "batch: \x07", "not valid YAML"),
        ("102.5", ".nan", "line 31: .nan is not a finite"),
        ("102.5", "-.inf", "line 31: -.inf is not a finite"),
        ("102.5", "1e999", "line 31: 1e999 is not a finite"),
        ("102.5", "0", r"line 31: replicas.1.sessions.2026-11-27T22:36:48Z.runs.throughput.0 is 0; only values"),
        (
            "102.5",
            "-102.5",
            r"line 31: replicas.1.sessions.2026-11-27T22:36:48Z.runs.throughput.0 is -102.5; only values",
        ),
        ("102.5", "1e13", r"line 31: .* only values"),
        (
            "102.5",
            "'102.5'",
            r"line 31: replicas.1.sessions.2026-11-27T22:36:48Z.runs.throughput.0 is '102.5', not a number",
        ),
        ("102.5", "true", "line 31: .* not a number"),
        ("102.5", "null", "line 31: .* is null, not a number"),
        (
            "102.5, ",
            "",
            "line 28: replicas.1.sessions.*.runs do not have one value per round in every list: .* throughput 1",
        ),
        ("throughput: [102.5, 103.5]", "throughput: 102.5", "line 31: .* not a list of one number per round"),
        ("throughput: [102.5, 103.5]", "throughput: []", "line 31: .* not a list of one number per round"),
        (
            "          throughput: [102.5, 103.5]\n",
            "",
            "line 28: replicas.1.sessions.2026-11-27T22:36:48Z.runs has no key throughput",
        ),
        ("schema_version: 6", "schema_version: 7", "line 2: schema_version is 7, .* up to 6. Update pytest-tfperf"),
        ("schema_version: 6", "schema_version: 0", "line 2: schema_version is 0"),
        ("schema_version: 6", "schema_version: '1'", "line 2: schema_version is '1'"),
        ("schema_version: 6", "schema_version: 1.0", "line 2: schema_version is 1.0"),
        ("schema_version: 6\n", "", "no key schema_version"),
        ("workload: mlp", "workload: cnn", "says that it is the baseline cnn-single"),
        ("workload: mlp", "workload: 1", "line 3: workload is 1, not a text"),
        ("variant: null", "variant: ''", "line 5: variant is empty"),
        ("cpu_cores: 2", "cpu_cores: 4", "line 8: its environment is that of the folder cpu-x-4-cores"),
        ("cpu_cores: 2", "cpu_cores: 2.5", "line 9: environment.cpu_cores must"),
        ("  cpu_cores: 2\n", "", "environment has no key cpu_cores"),
        ("step_time: s", "step_time: ms", "line 12: units are .*step_time: ms.*, not .*step_time: s"),
        ("  1:", "  one:", "replicas.one is not a replica count"),
        ("  1:", "  0:", "replicas.0 is not a replica count"),
        (
            "  1:\n",
            "  2:\n    efficiency_floor: null\n    tolerance: null\n  1:\n",
            "line 17: .* neither runs nor limits",
        ),
        ("efficiency_floor: null", "efficiency_floor: 85", "line 18: .* is 85; write a fraction"),
        (
            "efficiency_floor: null",
            "efficiency_flor: 0.8",
            "line 18: .*efficiency_flor is not a key that belongs there",
        ),
        ("tolerance: null", "tolerance: 3 %", "line 19: .* is '3 %', not a number"),
        ("tolerance: null", "tolerance: 0", "line 19: .* write a fraction"),
        ("'2026-11-27T22:36:48Z':", "yesterday:", "line 21: replicas.1.sessions.yesterday is not a date such as"),
        ("'2026-11-27T22:36:48Z':", "'2026-02-30T22:36:48Z':", "line 21: .* is not a date such as"),
        ("'2026-11-27T22:36:48Z':", "'2026-11-27T22:36:48Z-1':", "line 21: .* is not a date such as"),
        ("'2026-11-27T22:36:48Z':", "7:", "line 21: replicas.1.sessions.7 is not a date such as"),
        (
            "        soft:",
            "        sofa:",
            "line 26: .*sofa is not a key that belongs there; these do: saved, soft, runs",
        ),
        ("dirty: true", "dirty: maybe", "line 24: .* not true or false"),
        ("python: '3.12'", "python: 3.12", "line 27: .* is 3.12, not a text; put it in quotes"),
        ("definition:\n  batch: 32", "definition: none", "line 6: definition is 'none', not a mapping"),
        ("workload: mlp", "<<<<<<< HEAD\nworkload: mlp\n=======\nworkload: cnn\n>>>>>>> x", "line 3: .*merge-conflict"),
        ("workload: mlp", "...\n---\nworkload: mlp", "not valid YAML"),
        ("workload: mlp", "workload: mlp\nnote: hello", "line 4: note is not a key that belongs there"),
    ],
)
def test_broken_content(path: Path, old: str, new: str, message: str) -> None:
    text = path.read_text()
    if text.count(old) > 1:  # what is in the runs is in the derived values too
        head, _, tail = text.partition("    runs:\n")
        text = head + "    runs:\n" + tail.replace(old, new, 1) if old in tail else head.replace(old, new, 1) + tail
    else:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    check_refused(path, message)


BOMB = "a: &a [x, x]\n" + "\n".join(f"b{i}: &b{i} [*a, *a]" for i in range(30))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"# only a comment\n", "does not hold a mapping"),
        (b"- 1\n- 2\n", "does not hold a mapping"),
        (b"just text", "does not hold a mapping"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "binary"),
        (b"workload: caf\xe9\n", "line 1: it is not UTF-8"),
        (b"\xff\xfea\0", "binary"),
        (BOMB.encode(), "line 1: an anchor"),
        (b"%YAML 1.1\n---\na: 1\n", "line 1: a directive"),
        (b"{" * 10_000, "nested too deeply"),
        (b"{" * 100_000, "100000 separators it is more than can be read"),
        (b"schema_version: 6\rworkload: mlp\n", r"line 1: there is a line end '\\r'"),
        ("schema_version: 6\nvariant: a\u2028b\n".encode(), r"line 2: there is a line end '\\u2028'"),
        (b"a: [" + b"1, " * 300_000 + b"1]", "300003 separators it is more than can be read"),
        (b"a: " + b"b " * 300_000 + b"!", "600004 characters .* more than can be read"),
        (b"a: " + b"x" * 2_000_000, "characters, more than"),
        (b"a: " + b"x" * 5_000_000, "bytes, more than"),
        (b"schema_version: 6\n", "the file has no key workload; it may have been cut short"),
    ],
)
def test_no_baseline_at_all(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    check_refused(path, message)


def test_cut_short_anywhere_is_noticed_or_harmless(path: Path) -> None:
    text = path.read_text()
    end = text.index("derived:") + len("derived:\n")
    for length in range(0, end, 7):
        path.write_text(text[:length])
        with pytest.raises(BaselineError):
            BaselineStore(path.parents[1]).find(ENVIRONMENT, "mlp-single", 1)


def test_derived_values_are_for_readers_only(path: Path) -> None:
    text = path.read_text()
    head = text.partition("derived:")[0]
    path.write_text(head + "derived:\n      efficiency: 99\n      nonsense: x\n")
    assert BaselineStore(path.parents[1]).find(ENVIRONMENT, "mlp-single", 1) == ENTRY
    BaselineStore(path.parents[1]).save([ENTRY])
    assert path.read_text() == text


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_not_a_regular_file(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink()
    make(path)
    check_refused(path, "not a regular file")


def test_unreadable_for_real(path: Path) -> None:
    path.chmod(0)
    child = os.fork()
    if child == 0:  # root may read everything, so it must not be root
        try:
            if os.geteuid() == 0:
                os.chdir(path.parents[1])  # its way there leads through a folder that is pytest's alone
                path.parents[1].chmod(0o755)
                os.setgroups([])
                os.setuid(65534)
            folder = path.parents[1] if os.geteuid() != 65534 else Path()
            BaselineStore(folder).find(ENVIRONMENT, "mlp-single", 1)
        except BaselineError as error:
            os._exit(0 if "cannot be read: Permission denied. Make it readable" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_unreadable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    check_refused(path, "cannot be read: Permission denied. Make it readable")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BaselineError, match="cannot be written"):
        BaselineStore(tmp_path / "file").save([ENTRY])


def test_windows_line_ends_and_a_byte_order_mark_are_read(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert BaselineStore(path.parents[1]).find(ENVIRONMENT, "mlp-single", 1) == ENTRY


def test_no_session_at_all(path: Path) -> None:
    text = path.read_text()
    start, stop = text.index("    sessions:\n"), text.index("    derived:\n")
    path.write_text(text[:start] + "    sessions: {}\n" + text[stop:])
    check_refused(path, "line 20: replicas.1.sessions has no session; it may have been cut short")
    path.write_text(text[:start] + text[stop:])
    check_refused(path, "line 17: replicas.1 has no key sessions; it may have been cut short")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_text_raises_another_kind_of_error(data: st.DataObject) -> None:
    odd = st.sampled_from(list("{}[]:,-?#&*!|>'\"%@`\n\t \\~=<x1.é\u2028\U0001f600"))
    text = data.draw(st.one_of(st.text(odd, max_size=60), st.text(max_size=40)))
    version = data.draw(st.sampled_from([1, 2]))
    with suppress(FileProblem):
        validate(migrate(parse(f"schema_version: {version}\n" + text)))
