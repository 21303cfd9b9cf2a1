"""Tries an environment out: does TensorFlow compile under it? XLA ends the process at a flag that it does not know.

Run as ``python -m pytest_tfperf.cluster.trial``; the exit code is 0 where it does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn


def trial(added: Mapping[str, str]) -> NoReturn:
    """Compile something small with XLA on the CPU, under this process's environment and what is added, and leave."""
    code = 1
    try:
        os.environ.update(added)
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # its flags are read all the same, and no GPU's memory is touched
        import tensorflow as tf

        with tf.device("CPU:0"):
            tf.function(lambda: tf.ones([2]) * 2.0, jit_compile=True, autograph=False)()  # which would leave a file
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    trial({})
