"""Which workloads are compared, in what size, and who takes part. Knows no TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads import registry

OURS = "ours"
OUR_WAYS: Mapping[str, Mapping[str, object]] = {OURS: {}, "ours packed": {"pack_variables": True}}
"""Contestants that train our workload, with the options of the strategy `single` that they set."""
_LOOPS = ("loop", "loop jit", "fit", "fit jit")
_KERAS = tuple(f"{library} {way}" for library in ("keras", "tf_keras") for way in _LOOPS)
_HUB = tuple(f"keras_hub {way}" for way in _LOOPS)
_TF_MODELS = ("tf-models loop jit",)


@dataclass(frozen=True)
class Contest:
    """A workload in one size, and the names of those that train it.

    A name is a library and a way. The libraries: ``ours``, whose one other way is ``packed``, with the variables as
    slices of one; ``keras`` (Keras 3) and ``tf_keras``: their
    `applications` where they have the network, else the same network of their layers; ``keras_hub``; ``tf-models``.
    The ways: ``loop`` is one `tf.function` of gradients and update, ``fit`` is `Model.fit`; ``jit`` is XLA.
    """

    workload: str
    contestants: tuple[str, ...]
    size: Mapping[str, object]
    """Parameters on a GPU that differ from the workload's defaults."""
    tiny: Mapping[str, object]
    """Those of a try on a CPU."""


_TINY_IMAGES = {"batch_size": 2, "classes": 10, "precision": "float32"}
_HALF = {"precision": "float16", "xla": True}

CONTESTS = {
    contest.workload: contest
    for contest in (
        Contest("resnet50", (*OUR_WAYS, *_KERAS, *_TF_MODELS), {}, {**_TINY_IMAGES, "image_size": 32}),
        Contest(
            "resnet152",
            (*OUR_WAYS, *_KERAS),
            {"batch_size": 128, **_HALF},
            {**_TINY_IMAGES, "image_size": 32, "xla": False},
        ),
        Contest("inception_v3", (*OUR_WAYS, *_KERAS), {"batch_size": 128, **_HALF}, {**_TINY_IMAGES, "image_size": 75}),
        Contest("alexnet", (*OUR_WAYS, *_KERAS), _HALF, {**_TINY_IMAGES, "image_size": 64}),
        Contest(
            "inception_resnet_v1",
            (*OUR_WAYS, *_KERAS),
            _HALF,
            {**_TINY_IMAGES, "image_size": 75, "depth": 1, "classes": 50},
        ),
        Contest(
            "resnet110",
            (*OUR_WAYS, *_KERAS),
            {**_HALF, "input": "synthetic", "weight_decay": 0.0},
            {**_TINY_IMAGES, "depth": 8, "input": "synthetic", "weight_decay": 0.0},
        ),
        Contest(
            "gpt2",
            (*OUR_WAYS, *_HUB),
            {},
            {"batch_size": 2, "sequence": 16, "layers": 1, "width": 32, "heads": 2, "vocabulary": 100},
        ),
    )
}


def params_of(contest: Contest, *, tiny: bool, changed: Mapping[str, object]) -> dict[str, object]:
    """Every parameter of the contest's workload; `changed` are those asked for, where the workload has them.

    Raises:
        UsageError: a value cannot be had, or would make a network that the others do not have.
    """
    definition = registry.get(contest.workload)
    own = {key: value for key, value in changed.items() if key in definition.params}
    params = registry.resolve_params(definition, {**(contest.tiny if tiny else contest.size), **own})
    fixed = {"width": 1.0, "blocks": 1.0, "lrn": False, "auxiliary": False, "input": "synthetic", "weight_decay": 0.0}
    for key, value in fixed.items():
        if params.get(key, value) != value and not (key == "width" and contest.workload == "gpt2"):
            raise UsageError(f"{contest.workload}: the others have {key}={value!r} only, not {params[key]!r}.")
    return params
