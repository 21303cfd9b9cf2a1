"""What the numbers depend on, read without importing TensorFlow."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.measurement.cores import measuring_cores, physical_cores, usable_cores
from pytest_tfperf.measurement.gpus import GpuSurvey, survey_gpus
from pytest_tfperf.measurement.processor import cpu_model, vector_extensions
from pytest_tfperf.measurement.provenance import git_provenance
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.environment import Change, Environment
from pytest_tfperf.redaction import hide_users, is_secret

__all__ = ["changed", "git_provenance", "read_environment", "speed_variables"]

# Key to the distributions that may provide it; the first one installed counts.
_VERSIONS: Mapping[str, Sequence[str]] = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu"),
    "keras": ("keras", "keras-nightly"),
    "tf_keras": ("tf-keras",),
    "numpy": ("numpy",),
    "pytest-tfperf": ("pytest-tfperf",),
}
_GPU_VERSIONS: Mapping[str, Sequence[str]] = {
    "nccl": tuple(f"nvidia-nccl-cu{major}" for major in (13, 12, 11)),
    "cudnn": tuple(f"nvidia-cudnn-cu{major}" for major in (13, 12, 11)),
}

# Only names that TensorFlow, XLA, oneDNN, CUDA and NCCL read themselves. Not all of TF_*: Terraform keeps secrets in
# TF_VAR_* and TF_TOKEN_*, and what is listed here ends up in a file under version control.
_VARIABLES = frozenset(
    {
        "XLA_FLAGS",
        "OMP_NUM_THREADS",
        "KMP_AFFINITY",
        "KMP_BLOCKTIME",
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "NVIDIA_TF32_OVERRIDE",
        "TF_DETERMINISTIC_OPS",
        "TF_USE_LEGACY_KERAS",
    }
)
_PREFIXES = ("NCCL_", "TF_GPU_", "TF_XLA_", "TF_ENABLE_", "TF_CUDNN_", "TF_NUM_", "TF_FORCE_", "TF_GRPC_WORKER_CACHE_")
# Addresses and output files: they differ from run to run and change no speed.
_NOT_SPEED = frozenset(
    {"NCCL_COMM_ID", "NCCL_VERSION", "NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE"}
)


def read_environment(
    device: Device, cwd: Path, *, baselines: Path | None = None, survey: GpuSurvey | None = None
) -> Environment:
    """Describe this machine as far as measurements on the device depend on it.

    Raises MeasurementError where a GPU is asked for and none is visible.

    Args:
        device: What is measured; GPU facts are only part of a GPU's environment.
        cwd: Folder in the measured checkout.
        baselines: The baseline folder, whose changes do not make the checkout dirty; ``cwd/baselines`` if not given.
        survey: The GPUs, if they were looked at before.

    """
    hard: dict[str, str | int] = {"hosts": 1, "cpu_cores": usable_cores()}
    soft = {
        "python": platform.python_version(),
        "kernel": f"{platform.system()} {platform.release()}",
        **_versions(_VERSIONS),
    }
    if vectors := vector_extensions():
        soft["cpu_vectors"] = vectors
    if device == "cpu":
        hard["cpu_model"] = cpu_model()
        cores = measuring_cores()
        if (physical := physical_cores(cores)) < len(cores):
            soft["cpu_physical_cores"] = str(physical)
    else:
        # Hosts of one kind of GPU come with several CPUs, and the GPU's numbers hang little on which.
        soft["cpu_model"] = cpu_model()
        survey = survey or survey_gpus()
        if not survey.gpus:
            raise MeasurementError(f"No GPU can be measured here: {survey.reason}.")
        hard["gpu_model"] = " + ".join(sorted({gpu.name for gpu in survey.gpus}))
        hard["gpu_count"] = len(survey.gpus)
        hard["gpu_interconnect"] = survey.interconnect
        soft.update({"nvidia_driver": survey.driver, "cuda_driver": survey.cuda_driver, **_versions(_GPU_VERSIONS)})
    soft.update({f"env.{name}": value for name, value in speed_variables(os.environ).items()})
    commit, dirty = git_provenance(cwd, baselines)
    if commit:
        soft["commit"] = commit[:7] + (" with changes" if dirty else "")
    return Environment(hard, dict(sorted(soft.items())))


def _versions(wanted: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found = {}
    for key, distributions in wanted.items():
        for distribution in distributions:
            try:
                found[key] = importlib.metadata.version(distribution)
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    return found


def speed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Pick the environment variables that change speed, by name."""
    return {
        # Bytes that are not UTF-8 reach Python as surrogates, which no file can hold. "$XLA_FLAGS --more" begins with a
        # blank where nothing was set before.
        name: hide_users(environ[name].strip().encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        for name in sorted(environ)
        if (name in _VARIABLES or name.startswith(_PREFIXES)) and name not in _NOT_SPEED and not is_secret(name)
    }


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    """List the soft keys that differ, by key."""
    return tuple((key, old.get(key), new.get(key)) for key in sorted({*old, *new}) if old.get(key) != new.get(key))
