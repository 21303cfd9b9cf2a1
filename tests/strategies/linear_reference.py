"""The linear regression of the tests trained by hand in NumPy: what TensorFlow's weights must come to."""

from __future__ import annotations

from typing import Any

import numpy as np


def train_by_hand(
    data: tuple[Any, Any], rule: str, steps: int, decay: float = 0.0, rate: float = 0.05
) -> tuple[Any, Any]:
    """Kernel and bias after `steps` of sgd, momentum 0.9, Adam or RMSProp on the mean squared error, from zeros.

    `decay` times half the sum of the kernel's squares is added to the error.
    """
    features, labels = (part.astype("float64") for part in data)
    weights = [np.zeros((4, 1)), np.zeros(1)]
    slots = [[np.zeros_like(w), np.zeros_like(w)] for w in weights]
    if rule == "rmsprop":
        slots = [[np.ones_like(w), np.zeros_like(w)] for w in weights]
    for step in range(1, steps + 1):
        residual = features @ weights[0] + weights[1] - labels
        gradients = [2 * features.T @ residual / len(labels) + decay * weights[0], 2 * residual.mean(axis=0)]
        for index, gradient in enumerate(gradients):
            weights[index] = weights[index] - rate * _direction(rule, slots[index], gradient, step)
    return weights[0], weights[1]


def _direction(rule: str, slot: list[Any], gradient: Any, step: int) -> Any:
    if rule == "sgd":
        return gradient
    if rule == "momentum":
        slot[0] = 0.9 * slot[0] + gradient
        return slot[0]
    if rule == "rmsprop":  # decay 0.7, momentum 0.8, epsilon 0.5 under the root
        slot[0] = 0.7 * slot[0] + 0.3 * gradient**2
        slot[1] = 0.8 * slot[1] + gradient / np.sqrt(slot[0] + 0.5)
        return slot[1]
    slot[0] = 0.9 * slot[0] + 0.1 * gradient
    slot[1] = 0.999 * slot[1] + 0.001 * gradient**2
    corrected = slot[0] * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return corrected / (np.sqrt(slot[1]) + 1e-8)
