"""Facts about the machine and the checkout, read from made-up files and real repositories."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.measurement import environment as environment_module
from pytest_tfperf.measurement import provenance
from pytest_tfperf.measurement.cores import cpu_quota, measuring_cores, physical_cores, quiet_cores, usable_cores
from pytest_tfperf.measurement.environment import changed, git_provenance, read_environment, speed_variables
from pytest_tfperf.measurement.gpus import Gpu, GpuSurvey
from pytest_tfperf.measurement.host import busy_seconds

SURVEY = GpuSurvey(
    tuple(Gpu(f"GPU-{index}", "NVIDIA H100 80GB HBM3", f"GPU-{index}") for index in range(4)),
    "",
    "nv18",
    "580.1",
    "13.0",
)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2.5),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "100000 100000\n"}, 1.0),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            },
            1.5,
        ),
        ({"proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2.0),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/docker/1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense\n"}, None),
    ],
)
def test_cpu_quota(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)
    assert cpu_quota(tmp_path) == quota


@pytest.mark.parametrize(("limit", "allowed", "cores"), [(250000, 8, 2), (200000, 8, 2), (900000, 8, 8), (10000, 8, 1)])
def test_usable_cores(tmp_path: Path, limit: int, allowed: int, cores: int) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    write(tmp_path / "sys/fs/cgroup/cpu.max", f"{limit} 100000\n")
    assert usable_cores(tmp_path, allowed) == cores


@pytest.mark.parametrize(("limit", "cores"), [(250000, 2), (200000, 2), (199999, 1), (900000, 8), (10000, 1)])
def test_cores_to_measure_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, cores: int) -> None:
    """Those that a quota keeps running, and never more: 2.5 cores' worth of time on three cores is a stop and go."""
    monkeypatch.setattr("pytest_tfperf.measurement.cores.allowed_cores", lambda: tuple(range(3, 11)))
    assert measuring_cores(tmp_path) == tuple(range(3, 11))
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    write(tmp_path / "sys/fs/cgroup/cpu.max", f"{limit} 100000\n")
    assert measuring_cores(tmp_path) == tuple(range(3, 3 + cores))


@pytest.mark.parametrize(
    ("used", "chosen"),
    [
        ([0, 0, 0, 0, 0, 0, 0, 0], (0, 1)),
        ([1, 1, 1, 0, 0, 0, 1, 1], (0, 1)),  # single ticks: the host is quiet
        ([20, 0, 0, 9, 0, 0, 0, 0], (4, 5)),
        ([20, 20, 20, 20, 20, 20, 0, 1], (6, 7)),
        ([20, 20, 20, 20, 20, 20, 20, 20], (0, 1)),
    ],
)
def test_under_a_quota_the_least_busy_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: list[int], chosen: tuple[int, ...]
) -> None:
    monkeypatch.setattr("pytest_tfperf.measurement.cores.allowed_cores", lambda: tuple(range(8)))
    ticks = os.sysconf("SC_CLK_TCK")

    def pass_time(seconds: float) -> None:
        now = [1000 * core + count * ticks // 100 for core, count in enumerate(used)]
        write(tmp_path / "proc/stat", "".join(f"cpu{core} {user} 0 0 9\n" for core, user in enumerate(now)))

    write(tmp_path / "proc/stat", "".join(f"cpu{core} {1000 * core} 0 0 9\n" for core in range(8)))
    assert quiet_cores((0, 1), tmp_path, pass_time) == chosen


@pytest.mark.parametrize("cores", [(), (0, 1, 2), (0, 1, 2, 3)])
def test_where_there_is_no_choice_nothing_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, cores: tuple[int, ...]
) -> None:
    monkeypatch.setattr("pytest_tfperf.measurement.cores.allowed_cores", lambda: (0, 1, 2, 3))
    waits: list[float] = []
    assert quiet_cores(cores, sleep=waits.append) == cores
    assert not waits


def test_a_core_is_as_busy_as_its_other_hyperthread(tmp_path: Path) -> None:
    write(tmp_path / "proc/stat", "cpu0 0 0 0 9\ncpu1 0 0 0 9\ncpu2 300 0 0 9\n")
    write(tmp_path / "sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n")
    seconds = 300 / os.sysconf("SC_CLK_TCK")
    assert [busy_seconds([core], tmp_path) for core in (0, 1, 2)] == [seconds, 0.0, seconds]


def test_hyperthreads_of_one_core_are_one(tmp_path: Path) -> None:
    assert physical_cores((0, 1, 2, 3), tmp_path) == 4  # where the system does not tell
    for core in range(4):
        write(
            tmp_path / f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list", f"{core % 2},{core % 2 + 2}"
        )
    assert physical_cores((0, 1, 2, 3), tmp_path) == physical_cores((0, 1), tmp_path) == 2
    assert physical_cores((1, 3), tmp_path) == 1


def test_usable_cores_of_this_machine() -> None:
    assert usable_cores() >= 1


def test_environment_of_a_cpu(tmp_path: Path) -> None:
    found = read_environment("cpu", tmp_path)
    assert set(found.hard) == {"hosts", "cpu_model", "cpu_cores"}
    assert found.soft["python"] == platform.python_version()
    assert "nvidia_driver" not in found.soft
    assert "commit" not in found.soft
    assert found.name.startswith("cpu-")


def test_cores_that_are_hyperthreads_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_module, "measuring_cores", lambda: (0, 1))
    monkeypatch.setattr(environment_module, "physical_cores", len)
    assert "cpu_physical_cores" not in read_environment("cpu", tmp_path).soft
    monkeypatch.setattr(environment_module, "physical_cores", lambda cores: 1)
    assert read_environment("cpu", tmp_path).soft["cpu_physical_cores"] == "1"


def test_environment_of_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"tensorflow-cpu": "2.20.0", "nvidia-nccl-cu12": "2.26.2", "numpy": "2.1"}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(environment_module, "usable_cores", lambda: 64)
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=0")
    found = read_environment("gpu", tmp_path, survey=SURVEY)
    assert found.name == "4x-nvidia-h100-80gb-hbm3-nv18-64-cores"
    assert found.hard["gpu_count"] == 4
    assert found.hard["gpu_interconnect"] == "nv18"
    facts = {
        "nvidia_driver": "580.1",
        "cuda_driver": "13.0",
        "tensorflow": "2.20.0",
        "nccl": "2.26.2",
        "numpy": "2.1",
        "env.XLA_FLAGS": "--xla_gpu_autotune_level=0",
    }
    assert {key: found.soft.get(key) for key in facts} == facts
    assert list(found.soft) == sorted(found.soft)
    assert "keras" not in found.soft


def test_no_gpu_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"No GPU can be measured here: no NVIDIA driver \(x\)"):
        read_environment("gpu", tmp_path, survey=GpuSurvey((), "no NVIDIA driver (x)"))


def test_only_variables_that_change_speed_and_never_secrets() -> None:
    environ = {
        "XLA_FLAGS": "a",
        "OMP_NUM_THREADS": "4",
        "NCCL_ALGO": "Ring",
        "NCCL_COMM_ID": "10.0.0.1:1",
        "TF_XLA_FLAGS": " b",
        "TF_NUM_INTEROP_THREADS": "2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_VAR_password": "secret",
        "TF_TOKEN_app": "secret",
        "TF_CONFIG": "{}",
        "TF_DETERMINISTIC_OPS": "1",
        "TF_GPU_THREAD_MODE": "odd \udcff",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "TF_GRPC_TOKEN": "secret",
        "TF_GRPC_DEFAULT_OPTIONS": "secret",
        "NCCL_AUTH_TOKEN": "secret",
        "NCCL_SIGNING_KEY": "secret",
        "TF_GPU_PASSWORD": "secret",
        "NCCL_CONF_FILE": "https://me:secret@host/nccl.conf",
    }
    assert speed_variables(environ) == {
        "NCCL_ALGO": "Ring",
        "NCCL_CONF_FILE": "https://***@host/nccl.conf",
        "OMP_NUM_THREADS": "4",
        "TF_DETERMINISTIC_OPS": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_GPU_THREAD_MODE": "odd \ufffd",
        "TF_NUM_INTEROP_THREADS": "2",
        "TF_XLA_FLAGS": "b",
        "XLA_FLAGS": "a",
    }


def test_changed() -> None:
    old = {"tensorflow": "2.20.0", "python": "3.12", "nccl": "2.26"}
    new = {"tensorflow": "2.21.0", "python": "3.12", "env.XLA_FLAGS": ""}
    assert changed(old, new) == (
        ("env.XLA_FLAGS", None, ""),
        ("nccl", "2.26", None),
        ("tensorflow", "2.20.0", "2.21.0"),
    )
    assert changed(old, old) == ()


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    write(tmp_path / "model.py", "1")
    write(tmp_path / "sub/baselines/cpu/a.yaml", "1")
    write(tmp_path / "baselines/cpu/a.yaml", "1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_provenance(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as in a git hook
    assert git_provenance(repository) == (head, False)
    write(repository / "untracked.py", "1")
    write(repository / "baselines/cpu/a.yaml", "2")
    write(repository / "baselines/cpu/b.yaml", "2")
    assert git_provenance(repository) == (head, False)
    assert git_provenance(repository, repository / "elsewhere") == (head, True)
    assert git_provenance(repository / "sub") == (head, True)
    write(repository / "model.py", "2")
    assert git_provenance(repository) == (head, True)
    assert git_provenance(repository, Path("/somewhere/else")) == (head, True)


def test_the_baselines_of_a_folder_within_the_repository(repository: Path) -> None:
    write(repository / "sub/baselines/cpu/a.yaml", "2")
    assert git_provenance(repository / "sub")[1] is False
    write(repository / "model.py", "2")
    assert git_provenance(repository / "sub")[1] is True


def test_the_commit_is_a_soft_key(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert read_environment("cpu", repository).soft["commit"] == head[:7]
    write(repository / "model.py", "2")
    assert read_environment("cpu", repository).soft["commit"] == f"{head[:7]} with changes"


def test_no_provenance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_provenance(tmp_path) == ("", False)
    assert git_provenance(tmp_path / "absent") == ("", False)
    git(tmp_path, "init", "-q")
    assert git_provenance(tmp_path) == ("", False)  # no commit yet
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_provenance(tmp_path) == ("", False)  # no git


def test_a_git_that_hangs_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(provenance, "GIT_SECONDS", 0.2)
    assert git_provenance(tmp_path) == ("", False)


def test_tensorflow_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from pytest_tfperf.measurement.environment import read_environment; "
        "read_environment('cpu', pathlib.Path('.')); "
        "sys.exit(bool({'tensorflow', 'keras', 'numpy', 'pytest'} & set(sys.modules)))"
    )
    repository = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True, timeout=60)
