"""What a spawned process of test_mirrored does."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.records.task import Task
from pytest_tfperf.strategies import mirrored
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

TRANSFERS = ("_Send", "_HostSend")


def transfers_between_replicas(task: Task, **given: Any) -> dict[str, Any]:
    """What TensorFlow itself sends between two devices in a call whose steps are one XLA program for each replica.

    XLA has no collectives for CPUs, so that here nothing is reduced: what remains is all else that a step does. Tells
    the types of what would be reduced, too.
    """
    from tensorflow.python.eager import context  # the graphs that devices run are to be had here alone

    setattr(mirrored.Mirrored, "check_device", lambda *_, **__: None)  # noqa: B010
    reduced = []

    def all_reduce(tensor: Any, _: int) -> Any:
        reduced.append(tensor.dtype.name)
        return tensor

    setattr(mirrored, "_all_reduce", all_reduce)  # noqa: B010
    chosen, definition = strategies.get("mirrored"), workloads.get("mlp")
    params = {**workloads.resolve_params(definition, {}), "xla": True}
    options = strategies.resolve_options(chosen, {**given, "collective": "compiled"})
    step: Any = chosen.build(task, definition, params, options, "cpu", 2)
    context.context().enable_graph_collection()
    step.run()
    functions = context.context().export_run_metadata().function_graphs
    nodes = [node for function in functions for graph in function.partition_graphs for node in graph.node]
    return {
        "devices": sorted({node.device.rsplit("device:")[-1] for node in nodes}),
        "sends": [node.name for node in nodes if node.op in TRANSFERS],
        "reduced": reduced,
        "loss": step.wait(),
        "updates": step.updates(),
    }
