"""What the old-style graph strategies share: a step that is one `session.run`, and gradients for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_tfperf.strategies.gradients import check_reached
from pytest_tfperf.strategies.traffic import pulled_tensors

AfterStep = Callable[[Callable[..., Any], Sequence[Any]], None]
"""Called after each step with the session's `run` and with what the step has fetched beside the loss."""


def auto_cluster(config: Any) -> Any:
    """Turn on XLA's auto-clustering in a `ConfigProto`; on CPUs it has no effect."""
    import tensorflow as tf

    config.graph_options.optimizer_options.global_jit_level = tf.compat.v1.OptimizerOptions.ON_1
    return config


def unscaled(pairs: Sequence[tuple[Any, Any]], loss_scale: float) -> list[tuple[Any, Any]]:
    """Pairs of gradient and variable, the loss scale divided out again.

    Raises:
        UsageError: no variable has a gradient.
    """
    import tensorflow as tf

    check_reached([gradient for gradient, _ in pairs])
    if loss_scale == 1.0:
        return list(pairs)
    return [(None if g is None else tf.convert_to_tensor(g) / loss_scale, v) for g, v in pairs]


def read_once(device: str) -> Callable[..., Any]:
    """A variable creator that has a variable read by one operation, as variables of TensorFlow 1 were.

    Each device then is sent its value once a step; else every use, regularisation included, would send it anew.
    """

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if kwargs.get("trainable") is False:  # written in a step, and then read
            return next_creator(**kwargs)
        return next_creator(**{**kwargs, "caching_device": device})

    return create


def _one_of_each(gradients: Sequence[Any]) -> Any:
    """A short vector for which every gradient has to be computed; TensorFlow would leave out what nobody uses."""
    import tensorflow as tf

    dense = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients]
    return tf.concat([tf.cast(tf.reshape(gradient, [-1])[:1], tf.float32) for gradient in dense], axis=0)


class GraphStep:
    """A blocking `session.run`, as in the programs of the time. Make it while its graph can still grow."""

    updates_per_step = 1
    steps_per_call = 1

    def __init__(
        self,
        fetches: Sequence[Any],
        count: Any,
        variables: Sequence[Any],
        examples: int,
        *,
        replicas: int = 1,
        also_fetch: Sequence[Any] = (),
        after_step: AfterStep | None = None,
        gradients: Sequence[Any] = (),
    ) -> None:
        """Fetch the train operation and the loss in `fetches`; `count` is the variable that counts updates.

        `also_fetch` is computed with them and given to `after_step`, which is part of the step. `gradients`, if given,
        are what this task's own part of a step computes.
        """
        import tensorflow as tf

        self._fetches = [list(fetches), list(also_fetch)]
        self._after_step = after_step
        self._count = tf.convert_to_tensor(count)
        self._weights = [tf.convert_to_tensor(variable) for variable in variables]
        self._alone = [_one_of_each(gradients)] if gradients else []
        self._pulled = pulled_tensors(self._alone)
        self._session: Any = None
        self._feed: dict[Any, Any] = {}
        self._facts: Mapping[str, str] = {}
        self._last_loss = float("nan")
        self.examples_per_step = replicas * examples
        self.replicas = replicas

    def set_facts(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)

    def start(self, session: Any, feeds: Iterable[tuple[Any, Any]] = ()) -> None:
        """Run in `session` from now on; `feeds` are placeholders, each with the tensor whose value it always gets."""
        self._session = session
        pairs = list(feeds)
        values = session.run([source for _, source in pairs])
        self._feed = {placeholder: value for (placeholder, _), value in zip(pairs, values, strict=True)}

    def trace(self) -> bool:
        return True  # its graph was built with the model

    def run(self, times: int = 1) -> None:
        run, fetches, feed, after_step = self._session.run, self._fetches, self._feed, self._after_step
        for _ in range(times):
            (_, last_loss), also = run(fetches, feed_dict=feed)
            if after_step is not None:
                after_step(run, also)
        self._last_loss = last_loss

    def wait(self) -> float:
        return float(self._last_loss)

    def updates(self) -> int:
        """The count where updates are applied: on the servers, or in this process's graph."""
        return int(self._session.run(self._count))

    def alone(self) -> Callable[[], None] | None:
        """Computes the gradients from what the servers hold now; no server is asked, and none is sent anything."""
        if not self._alone:
            return None
        values = self._session.run(self._pulled, feed_dict=self._feed)
        fed = {**self._feed, **dict(zip(self._pulled, values, strict=True))}

        def run() -> None:
            self._session.run(self._alone, feed_dict=fed)

        return run

    def weights(self) -> list[Any]:
        return list(self._session.run(self._weights))

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def close(self) -> None:
        """Nothing: the session ends with the process. Closing one whose peers have left blocks for ever."""
