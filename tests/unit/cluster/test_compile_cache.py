"""Which flags tasks get so that XLA keeps what it compiles, and that the user's come first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_tfperf.cluster.compile_cache import FLAGS, CompileCache, cache_environ, keeps_programs

PROGRAMS, AUTOTUNING, NEWER = (flag.name for flag in FLAGS)


class TensorFlow:
    """Knows some flags, and ends a task at any other."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.trials: list[Mapping[str, str]] = []

    def try_environment(self, added: Mapping[str, str]) -> bool:
        self.trials.append(added)
        given = [word.lstrip("-").partition("=")[0] for value in added.values() for word in value.split()]
        return all(name in self.known for name in given)


def test_all_flags_in_one_trial(tmp_path: Path) -> None:
    tensorflow = TensorFlow(PROGRAMS, AUTOTUNING, NEWER)
    cache = CompileCache(tmp_path / "cache")
    added = cache.environ({}, tensorflow)
    assert added == {
        "TF_XLA_FLAGS": f"--{PROGRAMS}='{tmp_path}/cache/programs'",
        "XLA_FLAGS": f"--{NEWER}='{tmp_path}/cache/autotuning' --{AUTOTUNING}='{tmp_path}/cache/autotuning'",
    }
    assert cache.environ({}, tensorflow) == added
    assert len(tensorflow.trials) == 1
    assert {path.stat().st_mode & 0o777 for path in (cache.folder, *cache.folder.iterdir())} == {0o700}


def test_a_flag_that_tensorflow_does_not_know_is_never_set(tmp_path: Path) -> None:
    assert set(CompileCache(tmp_path / "a").environ({}, TensorFlow(PROGRAMS))) == {"TF_XLA_FLAGS"}
    assert set(CompileCache(tmp_path / "b").environ({}, TensorFlow(AUTOTUNING))) == {"XLA_FLAGS"}
    older = CompileCache(tmp_path / "older").environ({}, TensorFlow(PROGRAMS, AUTOTUNING))
    assert older["XLA_FLAGS"] == f"--{AUTOTUNING}='{tmp_path}/older/autotuning'"
    assert CompileCache(tmp_path / "c").environ({}, TensorFlow()) == {}


def test_flags_of_the_user_that_end_a_task_end_it_without_ours(tmp_path: Path) -> None:
    """The error is then about the user's flag alone."""
    tensorflow = TensorFlow(PROGRAMS, AUTOTUNING)
    cache = CompileCache(tmp_path / "cache")
    assert set(cache.environ({"XLA_FLAGS": "--xla_no_such_flag"}, tensorflow)) == {"TF_XLA_FLAGS"}
    assert set(cache.environ({}, tensorflow)) == {"TF_XLA_FLAGS", "XLA_FLAGS"}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            "--xla_dump_to=/x",
            f"--{NEWER}='/cache/autotuning' --{AUTOTUNING}='/cache/autotuning' --xla_dump_to=/x",
        ),
        (f"--{AUTOTUNING}=/mine", None),
        (f"--{NEWER}=/mine", None),
        (f"--{AUTOTUNING}=", None),
        ("/a/file/of/flags", None),
    ],
)
def test_flags_of_the_user_stay_and_win(own: str, expected: str | None) -> None:
    added = cache_environ({"XLA_FLAGS": own}, Path("/cache"), FLAGS)
    assert added.get("XLA_FLAGS") == expected
    assert added["TF_XLA_FLAGS"] == f"--{PROGRAMS}='/cache/programs'"


@pytest.mark.parametrize("flag", ["--{}={}", "--tf_xla_auto_jit=2 -{}='{}'", '--{}="{}" --tf_xla_auto_jit=2'])
def test_a_folder_of_the_users_that_holds_programs(tmp_path: Path, flag: str) -> None:
    environ = {"TF_XLA_FLAGS": flag.format(PROGRAMS, tmp_path / "programs")}
    assert not keeps_programs({})
    assert not keeps_programs(environ)
    (tmp_path / "programs").mkdir()
    assert not keeps_programs(environ)
    (tmp_path / "programs" / "one").touch()
    assert keeps_programs(environ)
    assert not keeps_programs({"TF_XLA_FLAGS": f"--{PROGRAMS}="})
