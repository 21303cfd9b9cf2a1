"""Finding the batch whose step takes as long as asked, with few tries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.harness_overhead.steps import next_batch


@pytest.mark.parametrize(
    ("step", "most"),
    [
        (lambda batch: 0.02 * batch, 2),  # a CPU core: as long as there are examples
        (lambda batch: 0.1 + 0.0001 * batch, 4),  # a GPU that the batch does not fill
        (lambda batch: max(0.1, 0.0001 * batch), 5),  # and whose step takes no less for a smaller one
    ],
)
def test_a_batch_is_found_in_few_tries(step: Callable[[int], float], most: int) -> None:
    tried = [(8, step(8))]
    while not 0.8 < 1.0 / tried[-1][1] < 1.25:
        batch = next_batch(tried, 1.0)
        tried.append((batch, step(batch)))
        assert len(tried) <= most


def test_a_step_that_is_too_long_whatever_the_batch_ends_at_one_example() -> None:
    tried = [(8, 40.0)]
    while tried[-1][0] > 1:
        tried.append((next_batch(tried, 1.0), 40.0 - 0.1 / len(tried)))
        assert len(tried) < 6
    assert next_batch(tried, 1.0) == 1


def test_the_next_batch_is_within_thirty_times_the_last() -> None:
    assert next_batch([(8, 0.001)], 1000.0) == 240
    assert next_batch([(900, 1000.0)], 1.0) == 30
    assert next_batch([(8, 0.2), (80, 0.19)], 1.0) == 2400
    assert next_batch([(240, 2.0), (120, 2.1)], 1.0) == 4
