"""A fixed batch on the device that it is to be on."""

from __future__ import annotations

import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.model_jobs import whole_numbers


@pytest.mark.parametrize(("device", "kept"), [("/device:GPU:0", "int64"), ("/device:CPU:0", "int32")])
def test_on_a_gpu_whole_numbers_are_kept_where_steps_find_them_and_used_as_they_were_made(
    device: str, kept: str
) -> None:
    """An int32 tensor of a GPU lies in the host's memory, and every step would wait for the copy of it."""
    found = run_tasks(Layout(1), whole_numbers, device=device)[TaskId("worker", 0)]
    assert found["kept"] == {"class": kept, "long": "int64", "weight": "float32"}
    assert found["used"] == {"class": "int32", "long": "int64", "weight": "float32"}
    assert found["loss"] == 1 / 2  # outputs 2 and 4 where 2 and 5 are asked for
