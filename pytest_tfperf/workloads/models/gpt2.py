"""GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"), by default its small size.

A decoder of the Transformer (Vaswani et al. 2017, arXiv:1706.03762) with normalisation before each part, GELU in its
tanh form (Hendrycks & Gimpel 2016, arXiv:1606.08415), learned positions, and the table of tokens as the matrix of the
last product too. In half precision products and the stream between blocks are of that type; variables, statistics of
normalisation, softmax and loss are float32.
"""

from __future__ import annotations

import math
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import COUNT, values
from pytest_tfperf.workloads.inputs import cross_entropy
from pytest_tfperf.workloads.layers import Layer, Network, dropout
from pytest_tfperf.workloads.registry import workload

_STDDEV = 0.02
"""Of every kernel and table at the start; the products that end in the stream have less, see `Gpt2`."""
_EPSILON = 1e-5


class Gpt2(Network):
    """(n, t) whole numbers to (n, t, vocabulary) logits in float32; position i sees tokens 0 to i."""

    def __init__(
        self,
        *,
        layers: int,
        width: int,
        heads: int,
        vocabulary: int,
        sequence: int,
        precision: str,
        rate: float,
        query_blocks: int,
    ) -> None:
        import tensorflow as tf

        super().__init__(precision)
        self._heads, self._rate, self._query_blocks = heads, rate, query_blocks
        self._tokens = self._variable(lambda: tf.random.normal([vocabulary, width], stddev=_STDDEV), "tokens")
        self._positions = self._variable(lambda: tf.random.normal([sequence, width], stddev=_STDDEV), "positions")
        # Each layer adds to the stream twice (section 2.3 of the paper).
        added = _STDDEV / math.sqrt(2 * layers)
        self._blocks = [
            (
                self.layer_norm(f"layer_{i}/norm_1", width, _EPSILON),
                self.dense(f"layer_{i}/attention/in", width, 3 * width, precision=precision, stddev=_STDDEV),
                self.dense(f"layer_{i}/attention/out", width, width, precision=precision, stddev=added),
                self.layer_norm(f"layer_{i}/norm_2", width, _EPSILON),
                self.dense(f"layer_{i}/mlp/in", width, 4 * width, precision=precision, stddev=_STDDEV),
                self.dense(f"layer_{i}/mlp/out", 4 * width, width, precision=precision, stddev=added),
            )
            for i in range(1, layers + 1)
        ]
        self._norm = self.layer_norm("norm", width, _EPSILON)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        examples, length = x.shape
        vocabulary, width = self._tokens.shape
        # The reshape makes the gradient of these rows dense, as that of the last product is: two of unlike kinds would
        # be added as one long list of rows.
        rows = tf.gather(tf.reshape(self._tokens, [vocabulary, width]), x)
        stream = tf.cast(rows + self._positions[:length], self.precision)
        stream = dropout(tf.reshape(stream, [examples * length, width]), self._rate)
        for norm_1, attention_in, attention_out, norm_2, mlp_in, mlp_out in self._blocks:
            mixed = self._attention(attention_in(norm_1(stream)), examples, length)
            stream += dropout(attention_out(mixed), self._rate)
            hidden = tf.nn.gelu(mlp_in(norm_2(stream)), approximate=True)
            stream += dropout(mlp_out(hidden), self._rate)
        logits = tf.matmul(self._norm(stream), tf.cast(self._tokens, self.precision), transpose_b=True)
        return tf.reshape(tf.cast(logits, tf.float32), [examples, length, vocabulary])

    def _attention(self, x: Any, examples: int, length: int) -> Any:
        """Queries, keys and values side by side, (n * t, 3 * width), to (n * t, width).

        A block of queries is held against the keys up to its own end: most of what causality forbids is not computed.
        """
        import tensorflow as tf

        size = x.shape[-1] // (3 * self._heads)
        x = tf.reshape(x, [examples, length, 3, self._heads, size])
        queries, keys, values = tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))
        queries *= tf.constant(1 / math.sqrt(size), queries.dtype)
        mixed = []
        for block in range(self._query_blocks):
            start = block * length // self._query_blocks
            end = (block + 1) * length // self._query_blocks
            scores = tf.matmul(queries[:, :, start:end], keys[:, :, :end], transpose_b=True)
            weights = dropout(_causal_softmax(scores, start), self._rate)
            mixed.append(tf.matmul(weights, values[:, :, :end]))
        return tf.reshape(tf.transpose(tf.concat(mixed, axis=2), [0, 2, 1, 3]), [examples * length, -1])


def _causal_softmax(scores: Any, start: int) -> Any:
    """Softmax over keys of (n, heads, queries, keys), later keys left out, in float32; query 0 is at `start`.

    Its own gradient keeps the result alone, in the type of `scores`: it is the largest thing that a layer keeps, and
    TensorFlow's would keep it once more in float32.
    """
    import tensorflow as tf

    queries, keys = scores.shape[-2:]
    seen = tf.range(keys)[tf.newaxis, :] <= start + tf.range(queries)[:, tf.newaxis]

    @tf.custom_gradient  # type: ignore[untyped-decorator,unused-ignore]
    def softmax(scores: Any) -> tuple[Any, Layer]:
        masked = tf.where(seen, tf.cast(scores, tf.float32), tf.float32.min)
        weights = tf.cast(tf.nn.softmax(masked), scores.dtype)

        def gradient(upstream: Any) -> Any:
            kept, by = tf.cast(weights, tf.float32), tf.cast(upstream, tf.float32)
            return tf.cast(kept * (by - tf.reduce_sum(kept * by, axis=-1, keepdims=True)), scores.dtype)

        return weights, gradient

    return softmax(scores)


def _loss(labels: Any, logits: Any) -> Any:
    """Cross-entropy of the next token, one value an example: the mean over its positions."""
    import tensorflow as tf

    return tf.reduce_mean(cross_entropy(labels, logits), axis=-1)


def _cost(*, layers: int, width: int, vocabulary: int, sequence: int, **_: object) -> ModelCost:
    """6 N + 12 layers x width x sequence a token (Chowdhery et al. 2022, arXiv:2204.02311, appendix B).

    N counts all parameters but the positions, which no product has. Attention counts in full, as there, though half of
    it is masked; so utilisation can be compared with what others publish.
    """
    block = 12 * width * width + 13 * width
    parameters = vocabulary * width + layers * block + 2 * width
    return ModelCost(sequence * (6 * parameters + 12 * layers * width * sequence), tokens=sequence)


def _check(*, sequence: int, width: int, heads: int, query_blocks: int, **_: object) -> None:
    if width % heads:
        raise UsageError(f"width is a multiple of heads, not {width} for {heads} heads.")
    if not 1 <= query_blocks <= sequence:
        raise UsageError(f"query_blocks is from 1 to sequence ({sequence}), not {query_blocks}.")


@workload(
    "gpt2",
    optimizer=Optimizer("adam", learning_rate=3e-4, beta_2=0.95),
    xla=True,
    cost=_cost,
    check=values(_check, width=COUNT),
)
def gpt2(
    *,
    batch_size: int = 16,
    sequence: int = 1024,
    layers: int = 12,
    width: int = 768,
    heads: int = 12,
    vocabulary: int = 50_257,
    dropout: float = 0.0,
    precision: str = "bfloat16",
    weight_decay: float = 0.0,
    query_blocks: int = 4,
) -> Workload:
    """124,439,808 trainable parameters by default, next-token cross-entropy on one fixed batch of random tokens.

    An example is a sequence. `query_blocks` only says how attention is computed: more blocks compute less of what is
    masked, in more and smaller products.
    """
    import tensorflow as tf

    model = Gpt2(
        layers=layers,
        width=width,
        heads=heads,
        vocabulary=vocabulary,
        sequence=sequence,
        precision=precision,
        rate=dropout,
        query_blocks=query_blocks,
    )
    # int64: TensorFlow keeps int32 tensors of a GPU in the host's memory, and would copy them in every step.
    tokens = tf.random.stateless_uniform(
        [batch_size, sequence + 1], seed=[1, 2], minval=0, maxval=vocabulary, dtype=tf.int64
    )
    loss_scale = 128.0 if precision == "float16" else 1.0
    return Workload(model, _loss, (tokens[:, :-1], tokens[:, 1:]), loss_scale, weight_decay)
