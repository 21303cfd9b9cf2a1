"""Every strategy with eight replicas, on CPU ranks: it plans, starts, trains, counts its updates and ends.

    pytest benchmarks/eight_ranks.py --tfperf-rounds 1 -v

Where eight GPUs cannot be had this is what can be known of eight replicas: that every strategy builds, and that what
the plugin checks of a run (finite losses, as many updates as steps) holds. The ranks share what cores
there are, so the speeds say nothing of scaling.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_tfperf.fixtures import Measured

RANKS = 8


def _trains(strategy: str, **options: object) -> Callable[[Measured], None]:
    @pytest.mark.tfperf(
        "mlp", strategy=strategy, replicas=[RANKS], hidden=64, batch_size=16, variant="eight-ranks", **options
    )
    def test(tfperf: Measured) -> None:
        (run, *_) = tfperf.runs
        assert sum(task.replicas for task in run.tasks) == RANKS
        assert tfperf.throughput > 0

    return test


test_independent = _trains("independent")
test_multi_worker_mirrored = _trains("multi_worker_mirrored")
test_mirrored = _trains("mirrored")
test_tower = _trains("tower")
test_ps_async = _trains("ps_async")
test_ps_sync = _trains("ps_sync")
test_parameter_server = _trains("parameter_server")
