"""Keeps distributed TensorFlow training fast: a pytest plugin that measures scaling on real clusters."""

from __future__ import annotations

from pytest_tfperf.errors import (
    BaselineError,
    ClusterError,
    MeasurementError,
    RegressionFailure,
    TfPerfError,
    UsageError,
)
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.version import __version__
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.registry import workload

__all__ = [
    "BaselineError",
    "ClusterError",
    "MeasurementError",
    "ModelCost",
    "Optimizer",
    "RegressionFailure",
    "TfPerfError",
    "UsageError",
    "Workload",
    "__version__",
    "workload",
]
