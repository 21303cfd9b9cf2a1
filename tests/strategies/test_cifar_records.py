"""Generated images in CIFAR's format: one good file whoever asks, and a pipeline that augments without a mistake."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.workloads import cifar_records
from pytest_tfperf.workloads.cifar_records import RECORD_BYTES, records_file
from tests.strategies.harness import run_tasks
from tests.strategies.model_jobs import read_records


def _make(folder: Path, barrier: Any, results: Any) -> None:
    barrier.wait()
    results.put(records_file(2_000, folder).stat().st_size)


def test_four_processes_at_once_leave_one_good_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    processes = [context.Process(target=_make, args=(tmp_path, barrier, results)) for _ in range(4)]
    for process in processes:
        process.start()
    sizes = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sizes == [2_000 * RECORD_BYTES] * 4
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == cifar_records._generated(2_000)


def test_the_file_is_made_once(tmp_path: Path) -> None:
    path = records_file(20, tmp_path)
    made = path.stat().st_ino
    assert records_file(20, tmp_path) == path
    assert path.stat().st_ino == made


def test_what_a_killed_process_left_is_made_anew(tmp_path: Path) -> None:
    path = records_file(20, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    (tmp_path / "cifar-format-v1-20.part").write_bytes(b"x" * 100_000)
    assert records_file(20, tmp_path).read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("damaged", [bytes(20 * RECORD_BYTES), b"\xff" * 20 * RECORD_BYTES, b"", None])
def test_a_file_of_the_right_size_and_wrong_content_is_made_anew(tmp_path: Path, damaged: bytes | None) -> None:
    """What a power failure, a disk or a program leaves."""
    path = records_file(20, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:] if damaged is None else damaged)
    assert records_file(20, tmp_path).read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_whose_name_is_of_other_content_goes(tmp_path: Path) -> None:
    path = records_file(20, tmp_path)
    other = path.rename(tmp_path / "cifar-format-v1-20-0123456789abcdef.bin")
    assert records_file(20, tmp_path) == path
    assert not other.exists()
    assert records_file(200, tmp_path) != path
    assert path.exists(), "those of other numbers stay"


def test_labels_are_in_turn_and_images_use_the_range(tmp_path: Path) -> None:
    table = np.frombuffer(records_file(1_000, tmp_path).read_bytes(), np.uint8).reshape(1_000, RECORD_BYTES)
    assert table[:, 0].tolist() == [index % 10 for index in range(1_000)]
    images = table[:, 1:].astype(float)
    assert (images.min(), images.max()) == (0, 254)
    # Noise around the class's own pattern, so that classes can be told apart.
    patterns = np.stack([images[label::10].mean(axis=0) for label in range(10)])
    distances = np.abs(images[:, None, :] - patterns).mean(axis=2)
    assert (distances.argmin(axis=1) == table[:, 0]).all()


def test_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert records_file(10).parent == tmp_path / "xdg" / "pytest-tfperf"
    assert (tmp_path / "xdg" / "pytest-tfperf").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert records_file(10).parent == tmp_path / "home" / ".cache" / "pytest-tfperf"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert records_file(10).parent.parent == tmp_path


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        arguments = {"records": 500, "batch_size": 64, "batches": 20, "draws": 400}
        result: dict[str, Any] = run_tasks(Layout(1), read_records, **arguments)[TaskId("worker", 0)]
    return result


def test_a_record_is_decoded_plane_by_plane(read: dict[str, Any]) -> None:
    record = np.frombuffer(cifar_records._generated(500)[:RECORD_BYTES], np.uint8)
    assert read["label"] == record[0]
    assert (read["image"] == record[1:].reshape(3, 32, 32).transpose(1, 2, 0)).all()


def test_every_augmented_image_is_a_standardised_crop_flipped_or_not(read: dict[str, Any]) -> None:
    candidates = _standardised_crops(read["image"])
    errors = np.stack([np.abs(candidates - image).max(axis=(1, 2, 3)) for image in read["augmented"]])
    assert errors.min(axis=1).max() < 1e-4
    chosen = errors.argmin(axis=1)
    assert len(set(chosen)) > 130  # of 162; 400 draws are expected to find 148
    assert 0.4 < (chosen >= 81).mean() < 0.6
    assert read["augmented labels"] == {read["label"]}


def test_batches_are_standardised_shuffled_and_labelled(read: dict[str, Any]) -> None:
    images = np.concatenate([images for images, _ in read["batches"]])
    labels = np.concatenate([labels for _, labels in read["batches"]])
    assert (images.dtype.name, images.shape, labels.dtype.name) == ("float32", (1_280, 32, 32, 3), "int32")
    assert np.abs(images.mean(axis=(1, 2, 3))).max() < 1e-4
    assert np.abs(images.std(axis=(1, 2, 3)) - 1).max() < 1e-3
    assert set(labels) == set(range(10))
    assert labels[:500].tolist() != [index % 10 for index in range(500)]
    table = np.frombuffer(cifar_records._generated(500), np.uint8).reshape(500, RECORD_BYTES)
    patterns = [table[label::10, 1:].mean(axis=0).reshape(3, 32, 32).transpose(1, 2, 0) for label in range(10)]
    candidates = np.concatenate([_standardised_crops(pattern) for pattern in patterns]).reshape(1_620, -1)
    found = (images.reshape(len(images), -1) @ candidates.T).argmax(axis=1) // 162
    assert (found == labels).all()


def _standardised_crops(image: Any) -> Any:
    """All 162 that the augmentation can give: 81 crops of the padded image, then the same flipped."""
    padded = np.pad(image.astype(np.float64), ((4, 4), (4, 4), (0, 0)))
    crops = [padded[y : y + 32, x : x + 32] for y in range(9) for x in range(9)]
    both = np.stack([*crops, *(crop[:, ::-1] for crop in crops)])
    return (both - both.mean(axis=(1, 2, 3), keepdims=True)) / both.std(axis=(1, 2, 3), keepdims=True)
