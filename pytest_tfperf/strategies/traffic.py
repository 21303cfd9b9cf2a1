"""Bytes that a worker of parameter servers moves in a step, by arithmetic on its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.strategies.facts import bytes_of, format_bytes, shard_facts, variable_facts


def traffic_facts(
    variables: Sequence[Any], gradients: Sequence[Any], state: Sequence[Any], servers: int
) -> dict[str, str]:
    """Where variables lie, how even the servers' shares are, and what one worker pulls and pushes in a step.

    Every trainable variable is pulled once, and its gradient pushed where there is one; a moving average is pulled,
    and the change to it pushed. A sparse gradient (`IndexedSlices`) is counted as nothing and said: its size is known
    in the step only, and its variable is read by rows.

    Args:
        variables: Trainable ones, as shards where they are sharded.
        gradients: Theirs, in the same order; None where the loss does not reach one.
        state: Variables that are not trained but written in a step.
        servers: How many there are, whether they hold something or not.
    """
    import tensorflow as tf

    sparse = [v for v, g in zip(variables, gradients, strict=True) if isinstance(g, tf.IndexedSlices)]
    dense = [v for v, g in zip(variables, gradients, strict=True) if g is not None and not any(v is s for s in sparse)]
    both = sum(map(bytes_of, dense)) + sum(map(bytes_of, state))
    facts = {
        **variable_facts([*variables, *state]),
        **shard_facts([*variables, *state], servers),
        "bytes pulled per step and worker": format_bytes(both),
        "bytes pushed per step and worker": format_bytes(both),
    }
    if sparse:
        facts["variables with sparse gradients, not counted"] = str(len(sparse))
    return facts
