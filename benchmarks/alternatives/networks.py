"""The networks of Keras' kind: `applications` where there is one, else the workload's network of Keras layers.

`keras` is Keras 3 or tf_keras; both have the API that is used here. Each gives logits in float32, as ours do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Params = Mapping[str, Any]


def network(keras: Any, workload: str, params: Params) -> Any:
    """The model of a workload; its dtype policy is the one that is set."""
    inputs = keras.Input([params["image_size"], params["image_size"], 3])
    outputs = _NETWORKS[workload](keras, params, inputs)
    return keras.Model(inputs, keras.layers.Activation("linear", dtype="float32")(outputs))


def _application(name: str) -> Callable[[Any, Params, Any], Any]:
    """`keras.applications`' network without its softmax. ResNets are of version 1 and have biases there."""

    def make(keras: Any, params: Params, x: Any) -> Any:
        size, classes = params["image_size"], params["classes"]
        # The pooled features and a product: what `include_top` makes too, which InceptionV3 refuses for small images.
        body = getattr(keras.applications, name)(
            include_top=False, weights=None, input_shape=(size, size, 3), pooling="avg"
        )
        y = body(x)
        rate = params.get("dropout", 0.0)
        return keras.layers.Dense(classes)(keras.layers.Dropout(rate)(y) if rate else y)

    return make


def _alexnet(keras: Any, params: Params, x: Any) -> Any:
    layers = keras.layers
    for index, (filters, kernel, stride) in enumerate(
        ((64, 11, 4), (192, 5, 1), (384, 3, 1), (256, 3, 1), (256, 3, 1))
    ):
        x = layers.Conv2D(filters, kernel, stride, padding="same", activation="relu")(x)
        if index in (0, 1, 4):
            x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dropout(params["dropout"])(layers.Dense(4096, activation="relu")(x))
    return layers.Dense(params["classes"])(x)


def _resnet110(keras: Any, params: Params, x: Any) -> Any:
    """As Keras' own example of a ResNet for CIFAR-10 builds it, with the paper's shortcuts without parameters."""
    layers = keras.layers

    def conv(x: Any, filters: int, stride: int = 1) -> Any:
        x = layers.Conv2D(filters, 3, stride, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    channels = 16
    x = layers.ReLU()(conv(x, channels))
    for stage, filters in enumerate((16, 32, 64)):
        for block in range((params["depth"] - 2) // 6):
            stride = 2 if block == 0 and stage > 0 else 1
            y = conv(layers.ReLU()(conv(x, filters, stride)), filters)
            if channels != filters:
                x = layers.Lambda(_every_second_pixel)(x)
                channels = filters
            x = layers.ReLU()(layers.Add()([x, y]))
    return layers.Dense(params["classes"])(layers.GlobalAveragePooling2D()(x))


def _every_second_pixel(x: Any) -> Any:
    """With as many channels of zeros as there are channels."""
    import tensorflow as tf

    half = x.shape[-1] // 2
    return tf.pad(x[:, ::2, ::2], [[0, 0], [0, 0], [0, 0], [half, half]])


def _inception_resnet_v1(keras: Any, params: Params, x: Any) -> Any:
    layers = keras.layers

    def norm(x: Any) -> Any:
        return layers.BatchNormalization(momentum=0.995, epsilon=0.001, scale=False)(x)

    def conv(x: Any, filters: int, kernel: int | tuple[int, int] = 1, stride: int = 1, padding: str = "") -> Any:
        padding = padding or ("same" if stride == 1 else "valid")
        return layers.ReLU()(norm(layers.Conv2D(filters, kernel, stride, padding=padding, use_bias=False)(x)))

    def chain(x: Any, *parts: tuple[Any, ...]) -> Any:
        for part in parts:
            x = conv(x, *part)
        return x

    def pool(x: Any) -> Any:
        return layers.MaxPooling2D(3, 2)(x)

    def residual(x: Any, scale: float, *branches: list[tuple[Any, ...]], activate: bool = True) -> Any:
        y = layers.Concatenate()([chain(x, *branch) for branch in branches])
        y = layers.Rescaling(scale)(layers.Conv2D(x.shape[-1], 1)(y))
        y = layers.Add()([x, y])
        return layers.ReLU()(y) if activate else y

    x = chain(x, (32, 3, 2), (32, 3, 1, "valid"), (64, 3))
    x = chain(pool(x), (80,), (192, 3, 1, "valid"), (256, 3, 2))
    for _ in range(params["depth"]):
        x = residual(x, 0.17, [(32,)], [(32,), (32, 3)], [(32,), (32, 3), (32, 3)])
    x = layers.Concatenate()([conv(x, 384, 3, 2), chain(x, (192,), (192, 3), (256, 3, 2)), pool(x)])
    for _ in range(2 * params["depth"]):
        x = residual(x, 0.10, [(128,)], [(128,), (128, (1, 7)), (128, (7, 1))])
    ends = [chain(x, (256,), (384, 3, 2)), chain(x, (256,), (256, 3, 2)), chain(x, (256,), (256, 3), (256, 3, 2))]
    x = layers.Concatenate()([*ends, pool(x)])
    last: tuple[list[tuple[Any, ...]], ...] = ([(192,)], [(192,), (192, (1, 3)), (192, (3, 1))])
    for _ in range(params["depth"]):
        x = residual(x, 0.20, *last)
    x = residual(x, 1.0, *last, activate=False)
    x = layers.Dropout(params["dropout"])(layers.GlobalAveragePooling2D()(x))
    return layers.Dense(params["classes"])(norm(layers.Dense(params["bottleneck"], use_bias=False)(x)))


_NETWORKS: dict[str, Callable[[Any, Params, Any], Any]] = {
    "resnet50": _application("ResNet50"),
    "resnet152": _application("ResNet152"),
    "inception_v3": _application("InceptionV3"),
    "alexnet": _alexnet,
    "resnet110": _resnet110,
    "inception_resnet_v1": _inception_resnet_v1,
}


def gpt2(params: Params) -> Any:
    """KerasHub's GPT-2 with random weights; inputs are a dictionary of token ids and a mask of ones."""
    import keras_hub

    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=params["vocabulary"],
        num_layers=params["layers"],
        num_heads=params["heads"],
        hidden_dim=params["width"],
        intermediate_dim=4 * params["width"],
        dropout=params["dropout"],
        max_sequence_length=params["sequence"],
    )
    return keras_hub.models.GPT2CausalLM(backbone)


def tf_models_resnet50(params: Params) -> Any:
    """The ResNet-50 of the TensorFlow Model Garden, and a product."""
    import tf_keras
    from official.vision.modeling.backbones import resnet

    size = params["image_size"]
    inputs = tf_keras.Input([size, size, 3])
    body = resnet.ResNet(50, input_specs=tf_keras.layers.InputSpec(shape=[None, size, size, 3]))
    pooled = tf_keras.layers.GlobalAveragePooling2D()(body(inputs)["5"])
    return tf_keras.Model(inputs, tf_keras.layers.Dense(params["classes"], dtype="float32")(pooled))
