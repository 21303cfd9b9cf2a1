"""One run of one contestant, in a process of its own: ``python -m benchmarks.alternatives.contestant FILE PARENT``.

FILE holds the task as JSON (see `Entry`), and afterwards what came of it; PARENT is the number of the process that
started this one, with which it ends.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.alternatives.contests import OUR_WAYS, OURS
from pytest_tfperf.cluster.process import die_with_parent
from pytest_tfperf.records.arm import Device

_MODULES = {"tf-models": "official"}
"""The module of a library whose name is another."""


@dataclass(frozen=True)
class Entry:
    """What a contestant is to do; durations in seconds."""

    name: str
    workload: str
    params: dict[str, Any]
    device: Device
    warmup_seconds: float
    window_seconds: float
    windows: int


@dataclass(frozen=True)
class Outcome:
    """What came of it: figures, or the reason why there are none."""

    examples_per_second: float = 0.0
    first_step_seconds: float = 0.0
    parameters: int = 0
    loss: float = 0.0
    gpu: str = ""
    problem: str = ""


def run(entry: Entry) -> Outcome:
    """Train and time; raises what the contestant raises."""
    library, _, way = entry.name.partition(" ")
    needed = _MODULES.get(library, library)
    # Asked first: TensorFlow's import takes seconds.
    if library != OURS and importlib.util.find_spec(needed) is None:
        return Outcome(problem=f"not installed: no module {needed!r}")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import tensorflow as tf

    from benchmarks.alternatives.keras_steps import keras_steps
    from benchmarks.alternatives.ours import ours
    from benchmarks.alternatives.timing import measure

    gpus = tf.config.list_physical_devices("GPU")
    if entry.device == "gpu" and not gpus:
        return Outcome(problem="TensorFlow sees no GPU")
    gpu = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "") if gpus else ""
    if library == OURS:
        steps, parameters = ours(OUR_WAYS[entry.name], entry.workload, entry.params, entry.device)
    else:
        where = "GPU:0" if entry.device == "gpu" else "CPU:0"
        steps, parameters = keras_steps(library, way, entry.workload, entry.params, where)
    times = measure(
        steps, warmup_seconds=entry.warmup_seconds, window_seconds=entry.window_seconds, windows=entry.windows
    )
    rate = entry.params["batch_size"] / times.step
    return Outcome(rate, times.first_step, parameters, times.loss, gpu)


def main() -> None:
    path = Path(sys.argv[1])
    die_with_parent(int(sys.argv[2]))
    entry = Entry(**cast("dict[str, Any]", json.loads(path.read_text())))
    try:
        outcome = run(entry)
    except ModuleNotFoundError as error:
        outcome = Outcome(problem=f"not installed: no module {error.name!r}")
    except Exception as error:
        text = " ".join(str(error).split())
        outcome = Outcome(problem=f"{type(error).__name__}: {text[:300]}")
    path.write_text(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    main()
