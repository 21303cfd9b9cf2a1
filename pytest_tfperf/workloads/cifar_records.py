"""Images in the binary format of CIFAR-10, from a file that is generated once a machine, and their input pipeline.

The file has CIFAR-10's layout (https://www.cs.toronto.edu/~kriz/cifar.html, "Binary version"): a record is one byte of
label and 3072 of image, planes of red, green and blue, each row by row. Its images are not CIFAR's: every class is a
pattern of 4 x 4 patches under noise, so that a network learns them, and nothing is downloaded.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
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
    be written, the folder of temporary files. Its name ends with a digest of its content, which is checked each time:
    after a power failure a file can have its size and hold zeros.
    """
    folder = _cache_folder() if folder is None else folder
    name = f"cifar-format-v{_VERSION}-{records}"
    if (known := _sound(folder, name)) is not None:
        return known
    part = folder / f"{name}.part"
    with part.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have made it while this one waited.
        if (known := _sound(folder, name)) is not None:
            part.unlink(missing_ok=True)
            return known
        content = _generated(records)
        path = folder / f"{name}-{_digest(content)}.bin"
        file.truncate(0)  # what a process that was killed here left
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        for damaged in set(folder.glob(f"{name}-*.bin")) - {path}:
            damaged.unlink(missing_ok=True)
        part.replace(path)
    return path


def _sound(folder: Path, name: str) -> Path | None:
    """A file of these records that holds what its name says."""
    for path in folder.glob(f"{name}-*.bin"):
        with contextlib.suppress(OSError):
            if path.stem.rpartition("-")[2] == _digest(path.read_bytes()):
                return path
    return None


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


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
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH


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
