"""What the spawned processes do to look at the built-in models and their input."""

from __future__ import annotations

import math
from typing import Any

from pytest_tfperf.records.task import Task
from pytest_tfperf.strategies.optimizers import graph_optimizer
from pytest_tfperf.workloads import cifar_records
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.base import Workload
from pytest_tfperf.workloads.batches import graph_batches
from pytest_tfperf.workloads.building import build, build_in_graph


def describe_models(task: Task, *, models: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Sizes and types of models, built in a graph, where nothing is computed."""
    import tensorflow as tf

    described = {}
    for key, (name, params) in models.items():
        with tf.Graph().as_default() as graph:
            made = workloads.get(name).build(**params)
            features, labels = graph_batches(made.batch, "/device:CPU:0").next()
            given = made.model(features)
            multiplications = _multiplications(graph) / features.shape[0]
            outputs, variables = tf.nest.flatten(given), made.model.trainable_variables
            described[key] = {
                "parameters": sum(math.prod(v.shape) for v in variables),
                "state": sum(math.prod(v.shape) for v in made.model.state),
                "outputs": [tuple(output.shape.as_list()) for output in outputs],
                "output types": {output.dtype.name for output in outputs},
                "variable types": {v.dtype.base_dtype.name for v in [*variables, *made.model.state]},
                "product types": {
                    op.outputs[0].dtype.name for op in graph.get_operations() if op.type in ("Conv2D", "MatMul")
                },
                "loss type": made.loss(labels, given).dtype.name,
                "batch": [tuple(part.shape.as_list()) for part in (features, labels)],
                "loss scale": made.loss_scale,
                "weight decay": made.weight_decay,
                "multiplications": multiplications,
            }
    return described


def _multiplications(graph: Any) -> float:
    """Of all convolutions and products in a graph that has a forward pass alone."""
    total = 0
    for op in graph.get_operations():
        if op.type == "Conv2D":
            total += math.prod(op.outputs[0].shape) * math.prod(op.inputs[1].shape[:-1])
        elif op.type in ("MatMul", "BatchMatMulV2"):
            turned = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
            total += math.prod(op.outputs[0].shape) * op.inputs[0].shape[-2 if turned else -1]
    return float(total)


def look_at_gpt2(task: Task, *, params: dict[str, Any]) -> dict[str, Any]:
    """Logits of the same weights: as they are, with one later token changed, in blocks, and in bfloat16; and gradients.

    The model of each precision has one set of weights in turn, and its gradients are of its mean loss.
    """
    import tensorflow as tf

    definition = workloads.get("gpt2")
    found: dict[str, Any] = {}
    models = {
        "float32": definition.build(**params, precision="float32", query_blocks=1),
        "blocks": definition.build(**params, precision="float32", query_blocks=4),
        "bfloat16": definition.build(**params, precision="bfloat16", query_blocks=4),
    }
    tokens, labels = models["float32"].batch
    for key, made in models.items():
        for variable, first in zip(
            made.model.trainable_variables, models["float32"].model.trainable_variables, strict=True
        ):
            # Larger than at the start, where softmax is all but even.
            variable.assign(first if key != "float32" else first * 4 if len(first.shape) > 1 else first)
        with tf.GradientTape() as tape:
            logits = made.model(tokens)
            loss = tf.reduce_mean(made.loss(labels, logits))
        gradients = tape.gradient(loss, made.model.trainable_variables)
        found[key] = logits.numpy(), float(loss), [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]
    changed = tf.tensor_scatter_nd_update(tokens, [[0, params["sequence"] // 2]], [tokens[0, 0] + 1])
    found["changed"] = models["blocks"].model(changed).numpy()
    return found


def train_in_graphs(task: Task, *, runs: dict[str, tuple[str, int, dict[str, Any]]]) -> dict[str, Any]:
    """Losses of an old-style graph each, in a session of this process; and how far its moving averages moved."""
    import tensorflow as tf

    results = {}
    for key, (name, steps, params) in runs.items():
        definition = workloads.get(name)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.compat.v1.set_random_seed(1)  # a graph's own seed: from some weights a loss rises before it falls
            made = definition.build(**params)
            built = build_in_graph(made, "/device:CPU:0")
            loss = built.loss(*built.batches.next())
            train = graph_optimizer(definition.optimizer).minimize(loss, var_list=list(built.variables))
            moving = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
            session.run([tf.compat.v1.global_variables_initializer(), *built.batches.initializers])
            before = session.run(made.model.state)
            losses = [float(session.run([loss, train, *moving])[0]) for _ in range(steps)]
            moved = [float(abs(a - b).max()) for a, b in zip(before, session.run(made.model.state), strict=True)]
            results[key] = {"losses": losses, "moved": moved}
    return results


def read_records(task: Task, *, records: int, batch_size: int, batches: int, draws: int) -> dict[str, Any]:
    """The first record as it is decoded, as it comes out when augmented `draws` times, and whole batches."""
    import numpy as np
    import tensorflow as tf

    with cifar_records.records_file(records).open("rb") as file:
        record = tf.constant(file.read(cifar_records.RECORD_BYTES))
    image, label = cifar_records.decode(record)
    augmented = [cifar_records.example(record) for _ in range(draws)]
    taken = list(cifar_records.pipeline(records, batch_size).take(batches))
    return {
        "image": image.numpy(),
        "label": int(label),
        "augmented": np.stack([image.numpy() for image, _ in augmented]),
        "augmented labels": {int(label) for _, label in augmented},
        "batches": [(images.numpy(), labels.numpy()) for images, labels in taken],
    }


def whole_numbers(task: Task, *, device: str) -> dict[str, Any]:
    """Types of the fixed batch's leaves as a step's function gets them and as the loss does, and a loss's value."""
    import numpy as np
    import tensorflow as tf

    seen = {}

    def loss(labels: Any, outputs: Any) -> Any:
        seen.update({name: label.dtype.name for name, label in labels.items()})
        return tf.reduce_mean(tf.square(outputs[:, 0] - tf.cast(labels["class"], tf.float32)))

    class Model:
        def __init__(self) -> None:
            self.trainable_variables = (tf.Variable([[2.0]]),)

        def __call__(self, features: Any) -> Any:
            return tf.matmul(features, self.trainable_variables[0])

    labels = {"class": np.array([2, 5], np.int32), "long": np.array([1, 2], np.int64), "weight": np.ones(2, np.float32)}
    made = Workload(Model(), loss, (np.array([[1.0], [2.0]], np.float32), labels))
    tf.config.set_soft_device_placement(True)  # a GPU that is not here is the CPU
    built = build(made, device)
    step = tf.function(lambda: built.loss(*built.batches.next()), jit_compile=True, autograph=False)
    kept = {name: label.dtype.name for name, label in built.batches.next()[1].items()}
    return {"loss": float(step()), "kept": kept, "used": seen}
