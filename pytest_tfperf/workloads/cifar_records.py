"""Images in the binary format of CIFAR-10, from a file that is generated once a machine, and their input pipeline.

The file has CIFAR-10's layout (https://www.cs.toronto.edu/~kriz/cifar.html, "Binary version"): a record is one byte of
label and 3072 of image, planes of red, green and blue, each row by row. Its images are not CIFAR's: every class is a
pattern of 4 x 4 patches under noise, so that a network learns them, and nothing is downloaded.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

SIDE = 32
CLASSES = 10
RECORD_BYTES = 1 + 3 * SIDE * SIDE

_VERSION = 1
"""Of the generated contents, and part of the file's name."""
_PAD = 4
_SHUFFLED = 2048


def pipeline(records: int, batch_size: int) -> Any:
    """A `tf.data.Dataset` without end: (batch, 32, 32, 3) float32 images and (batch,) int32 labels, shuffled.

    Augmented as in He et al. 2015 (arXiv:1512.03385, section 4.2): padded by 4 on each side, a random crop of
    32 x 32, flipped at random; then each image has mean 0 and variance 1.
    """
    import tensorflow as tf

    path = records_file(records)
    with tf.device("CPU:0"):
        return (
            tf.data.FixedLengthRecordDataset(str(path), RECORD_BYTES)
            .repeat()
            .shuffle(min(records, _SHUFFLED))
            .map(tf.autograph.experimental.do_not_convert(example), num_parallel_calls=tf.data.AUTOTUNE)
            .batch(batch_size, drop_remainder=True)
            .prefetch(2)
        )


def decode(record: Any) -> tuple[Any, Any]:
    """A record's bytes, a string scalar, as a (32, 32, 3) uint8 image and its int32 label."""
    import tensorflow as tf

    numbers = tf.io.decode_raw(record, tf.uint8)
    planes = tf.reshape(numbers[1:RECORD_BYTES], [3, SIDE, SIDE])
    return tf.transpose(planes, [1, 2, 0]), tf.cast(numbers[0], tf.int32)


def example(record: Any) -> tuple[Any, Any]:
    """A record as the pipeline gives it: image augmented and standardised, label untouched."""
    import tensorflow as tf

    image, label = decode(record)
    image = tf.pad(image, [[_PAD, _PAD], [_PAD, _PAD], [0, 0]])
    image = tf.image.random_crop(image, [SIDE, SIDE, 3])
    image = tf.image.random_flip_left_right(image)
    return tf.image.per_image_standardization(image), label


def records_file(records: int, folder: Path | None = None) -> Path:
    """The file of so many records, generated where it is not there yet; several processes may ask at once.

    It lies in `folder`, or else in `pytest-tfperf` under ``$XDG_CACHE_HOME``, ``~/.cache`` or, where neither can
    be written, the folder of temporary files.
    """
    folder = _cache_folder() if folder is None else folder
    path = folder / f"cifar-format-v{_VERSION}-{records}.bin"
    size = records * RECORD_BYTES
    if _has_size(path, size):
        return path
    part = path.with_suffix(".part")
    with part.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have made it while this one waited.
        if _has_size(path, size):
            part.unlink(missing_ok=True)
            return path
        file.truncate(0)  # what a process that was killed here left
        file.write(_generated(records))
        file.flush()
        part.replace(path)
    return path


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    candidates = [
        Path(given) / "pytest-tfperf" if os.path.isabs(given) else Path("~/.cache/pytest-tfperf").expanduser(),
        Path(tempfile.gettempdir()) / f"pytest-tfperf-{os.getuid()}",
    ]
    for folder in candidates:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and _is_own(folder):
            return folder
    raise OSError(f"no folder for generated records can be written: tried {', '.join(map(str, candidates))}")


def _is_own(folder: Path) -> bool:
    # In the shared folder of temporary files somebody else could have put one of this name.
    return not folder.is_symlink() and folder.stat().st_uid == os.getuid()


def _generated(records: int) -> bytes:
    """Records in a fixed order, labels 0 to 9 in turn. The same bytes for the same number."""
    import numpy as np

    random = np.random.Generator(np.random.PCG64(20151210))
    patches = random.integers(64, 192, size=(CLASSES, 3, SIDE // 4, SIDE // 4), dtype=np.uint8)
    patterns = patches.repeat(4, axis=2).repeat(4, axis=3).reshape(CLASSES, -1)
    labels = (np.arange(records) % CLASSES).astype(np.uint8)
    noise = random.integers(-64, 64, size=(records, RECORD_BYTES - 1), dtype=np.int8)
    # In uint8, where adding -64 wraps around to subtracting 64.
    images = patterns[labels] + noise.view(np.uint8)
    return np.concatenate([labels[:, None], images], axis=1).tobytes()
