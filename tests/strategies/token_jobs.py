"""What the spawned processes of test_ps_sync do where one worker is late for its token."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.records.task import Task, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from tests.strategies import small_workloads  # noqa: F401


def train_with_a_late_request(task: Task, *, steps: int, name: str) -> dict[str, Any] | None:
    """Two workers train `steps` steps; the request of worker 1 for its first token comes after all of these:

    worker 0 has taken the token of its first step, has pushed its second gradient, and has taken another token. There
    is none but worker 1's.
    """
    chosen, definition = strategies.get("ps_sync"), workloads.get(name)
    params = workloads.resolve_params(definition, {})
    step: Any = chosen.build(task, definition, params, strategies.resolve_options(chosen, {}), "cpu", 2)
    if step is None:
        return None
    if task.id.index == 0:
        step.run(steps)
    else:
        _late_first_step(task, step)
        step.run(steps - 1)
    result = {"updates": step.updates(), "after": step.weights()}
    task.exchange("trained", None, [TaskId("worker", index) for index in (0, 1)])
    return result


def _late_first_step(task: Task, step: Any) -> None:
    """A step in two halves: the gradients are pushed, and much later a token is taken."""
    import tensorflow as tf

    session = step._session
    pushes = [op for op in session.graph.get_operations() if op.type.endswith("AccumulatorApplyGradient")]
    assert len(pushes) == 2, pushes  # a kernel and a bias
    session.run(pushes)
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        # The resources that the training uses, by their shared names.
        tokens = tf.queue.FIFOQueue(-1, [tf.int64], shapes=[()], shared_name="sync_token_q")
        made = [op for op in session.graph.get_operations() if op.type.endswith("ConditionalAccumulator")]
        bias = made[-1].get_attr("shared_name").decode()
        last = tf.compat.v1.ConditionalAccumulator(tf.float32, shape=[1], shared_name=bias)
        pushed, waiting, token = last.num_accumulated(), tokens.size(), tokens.dequeue()
        with tf.device(f"/job:worker/task:{task.id.index}"):
            local_step = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name="sync_rep_local_step")
            assign = tf.raw_ops.AssignVariableOp(resource=local_step, value=token)
        other = tf.compat.v1.Session(session.sess_str, config=session._config)
        while other.run(pushed) != 1:  # of the second step: the first two have become an update by then
            pass
        while other.run(waiting) != 0:
            pass
        other.run(assign)
