"""What a loss gives to train by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.errors import UsageError


def check_reached(gradients: Sequence[Any | None]) -> None:
    """See to it that a loss depends on some of the variables; None is the gradient of one that it does not reach.

    Raises:
        UsageError: it depends on none, so that what is measured would be the speed of training nothing.
    """
    if all(gradient is None for gradient in gradients):
        raise UsageError(
            f"The workload's loss has no gradient for any of its {len(gradients)} trainable variables, so that nothing "
            "would be trained: it must be computed by TensorFlow's operations from what the model gives."
        )
