"""What the spawned processes do to look at the built-in models and their input."""

from __future__ import annotations

import math
from typing import Any

from pytest_tfperf.records.task import Task
from pytest_tfperf.strategies.optimizers import graph_optimizer
from pytest_tfperf.workloads import cifar_records
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.batches import graph_batches
from pytest_tfperf.workloads.building import build_in_graph


def describe_models(task: Task, *, models: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Sizes and types of models, built in a graph, where nothing is computed."""
    import tensorflow as tf

    described = {}
    for key, (name, params) in models.items():
        with tf.Graph().as_default() as graph:
            made = workloads.get(name).build(**params)
            features, labels = graph_batches(made.batch, "/device:CPU:0").next()
            given = made.model(features)
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
            }
    return described


def train_in_graphs(task: Task, *, runs: dict[str, tuple[str, int, dict[str, Any]]]) -> dict[str, Any]:
    """Losses of an old-style graph each, in a session of this process; and how far its moving averages moved."""
    import tensorflow as tf

    results = {}
    for key, (name, steps, params) in runs.items():
        definition = workloads.get(name)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
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
