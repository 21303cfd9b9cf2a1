"""AutoGraph for the users' functions alone.

Every `tf.function` of ours is made with ``autograph=False``: no Python control flow in it depends on a tensor, and
converting it took as long as the rest of its tracing, in every task of every run. What a user wrote may contain a loop
over a tensor, so it is converted where it enters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_OWN_MODELS = "pytest_tfperf.workloads.models."


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's model, loss or batch function as a `tf.function` around it would have converted it.

    Eagerly it runs as it is written, and so it does in an old-style graph. Nothing is done to the built-in models' own.
    """
    module = getattr(function, "__module__", None) or ""
    if module.startswith(_OWN_MODELS):
        return function
    import tensorflow as tf

    as_tensorflow_does = tf.__internal__.autograph  # the export that libraries of higher-order functions are to use
    traced = as_tensorflow_does.tf_convert(function, as_tensorflow_does.control_status_ctx())

    def call(*args: Any, **kwargs: Any) -> Any:
        in_function = not tf.executing_eagerly() and tf.compat.v1.executing_eagerly_outside_functions()
        return (traced if in_function else function)(*args, **kwargs)

    return call
