"""Gates are drawn from a pool in time, and no run serves twice in one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts.gates import Floats
from benchmarks.verdicts.pool import Pool, at_random, in_order, length, read


def write(path: Path, blocks: int) -> Path:
    """Blocks as `collect` writes them: every third is slowed. The throughput of T(1) is the block's number."""
    with gzip.open(path, "wt") as file:
        for block in range(1, blocks + 1):
            for arm, count in (("T(1)", 1), ("T(2)", 2)):
                run = {
                    "block": block, "at": 100.0 * block + count, "arm": arm, "slowdown": 0.0 if block % 3 else 0.1,
                    "throughput": float(count * block), "steps": [0.5, 0.25, 0.125], "seconds": 7.0,
                }  # fmt: skip
                file.write(json.dumps(run) + "\n")
    return path


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return read(write(tmp_path / "pool.jsonl.gz", 120))


def blocks_of(values: Floats) -> list[int]:
    """The numbers of the blocks, from the times of T(1)."""
    return np.rint(1 / values[..., 0]).astype(int).ravel().tolist()


def test_the_pool_is_read(pool: Pool) -> None:
    assert len(pool.identical) == 80
    assert len(pool.slow) == 40
    assert pool.runs == 240
    assert pool.slowdown == 0.1
    # Seconds x replicas / examples: the same for both arms of these blocks, whose efficiency is 1.
    assert pool.identical[3].step_times.tolist() == [1 / 5, 1 / 5]
    assert pool.identical[0].steps.tolist() == [[0.5, 0.5], [0.25, 0.25], [0.125, 0.125]]


def test_a_block_of_one_arm_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.jsonl.gz", 2)
    with gzip.open(path, "at") as file:
        file.write(json.dumps({"block": 4, "at": 1.0, "arm": "T(1)", "slowdown": 0.0, "throughput": 1.0, "steps": [1]}))
    assert read(path).runs == 4


def test_what_is_no_pool_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"block": 1}\n'))
    with pytest.raises(ValueError, match=r"pool.jsonl.gz, line 1: not a run"):
        read(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="no block has a run of both"):
        read(path)


@pytest.mark.parametrize("sessions", [1, 3])
def test_gates_in_time_are_earlier_and_later_blocks(pool: Pool, sessions: int) -> None:
    gates = in_order(pool, sessions, slow=False, every=length(sessions))
    assert gates is not None
    assert len(gates) == 80 // length(sessions)
    everything = [*blocks_of(gates.saved), *blocks_of(gates.now)]
    assert len(set(everything)) == len(everything), "no run in two gates"
    for gate in range(len(gates)):
        saved, now = blocks_of(gates.saved[gate]), blocks_of(gates.now[gate])
        assert saved == sorted(saved)
        assert max(saved) < min(now)
        assert gates.saved[gate].shape == (sessions, 10, 2)
        assert len(now) == 5


def test_slowed_blocks_of_a_gate_follow_its_saved_ones_at_once(pool: Pool) -> None:
    gates = in_order(pool, 1, slow=True, every=1)
    assert gates is not None
    assert blocks_of(gates.saved[0]) == [1, 2, 4, 5, 7, 8, 10, 11, 13, 14]
    assert blocks_of(gates.now[0]) == [15, 18, 21, 24, 27]
    assert len(gates) > 50


def test_history_ends_with_the_newest_saved_run(pool: Pool) -> None:
    gates = in_order(pool, 3, slow=False, every=1)
    assert gates is not None
    assert [len(nights) for nights in gates.history[:6]] == [6, 6, 6, 6, 6, 7]
    np.testing.assert_allclose(gates.history[0][-1], gates.saved[0, -1, -5:].mean(axis=0))


@pytest.mark.parametrize("slow", [False, True])
def test_random_gates_share_no_run_within_a_shuffle(pool: Pool, slow: bool) -> None:
    gates = at_random(pool, 1, slow=slow, shuffles=1)
    assert gates is not None
    everything = [*blocks_of(gates.saved), *blocks_of(gates.now)]
    assert len(set(everything)) == len(everything)
    assert all((block % 3 == 0) == slow for block in blocks_of(gates.now))
    assert blocks_of(gates.saved) != sorted(blocks_of(gates.saved))


def test_a_pool_too_small_gives_no_gates(tmp_path: Path) -> None:
    small = read(write(tmp_path / "pool.jsonl.gz", 12))
    assert in_order(small, 1, slow=False, every=1) is None
    assert at_random(small, 3, slow=True, shuffles=2) is None
