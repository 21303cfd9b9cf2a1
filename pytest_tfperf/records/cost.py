"""What training a model takes by its definition, whatever a program does for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelCost:
    """Arithmetic of one example in one training step."""

    flops: float
    """Floating-point operations of the forward and the backward pass, a multiplication and an addition counted as two.
    What the model asks for: nothing that is computed again, and no element-wise work. The backward pass has two
    products for each of the forward one, so this is 6 times the multiplications of a forward pass."""
    tokens: int = 0
    """Tokens of an example, where it is a sequence; 0: it is none."""
