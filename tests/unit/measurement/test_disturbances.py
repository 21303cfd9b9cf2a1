"""Which looks are a disturbance, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_tfperf.measurement.disturbances import (
    clock_of,
    gpu_disturbances,
    gpu_note,
    gpu_outside,
    host_disturbances,
    host_outside,
    lasting_disturbances,
)
from pytest_tfperf.records.health import GpuSample, GpuState, GpuUse, HostScope, HostUse

QUIET = HostUse(
    scope=HostScope(root=1, cores=(0, 1), pinned=True, load=0.5),
    seconds=2.0,
    own=3.8,
    seen=0.04,
    top=(("sshd", 0.03),),
    busy=3.9,
    stolen=0.01,
    swapped_in=4096,
    swapped_out=0,
    stalled={"cpu": 1.2, "memory": 0.0, "io": 0.5},
)


def host(**changes: Any) -> tuple[str, ...]:
    return host_disturbances(replace(QUIET, **changes))


def test_a_quiet_machine_has_none() -> None:
    assert host() == ()
    assert host_disturbances(None) == ()


def test_programs_of_others_that_can_be_seen() -> None:
    assert host(own=2.3, busy=3.9, seen=1.6, top=(("python", 1.5), ("sshd", 0.03))) == (
        "other programs used 0.80 of 2 cores (python 0.75); something waited for a core 60 % of the time; "
        "the load before the run was 0.50",
    )


def test_programs_of_others_on_cores_that_are_not_the_runs() -> None:
    """On a machine of many cores the run has two; all it notices is what those two were busy with."""
    assert host(seen=30.0, own=3.85, busy=3.9) == ()
    (text,) = host(seen=30.0, own=3.0, busy=3.9)
    assert text.startswith("other programs used 0.45 of 2 cores")


def test_programs_of_others_that_a_container_hides() -> None:
    (text,) = host(own=2.4, busy=3.9, seen=0.0, top=(), stalled={})
    assert text == "other programs used 0.75 of 2 cores; the load before the run was 0.50"
    # Within what the kernel's ticks may be wrong by, while nobody is seen.
    assert host(own=3.4, busy=3.9, seen=0.0) == ()


def test_others_on_idle_cores_do_not_disturb_tasks_that_are_not_pinned() -> None:
    wide = HostScope(root=1, cores=tuple(range(16)), pinned=False)
    assert host(scope=wide, own=4.0, seen=4.0, busy=8.0) == ()
    assert len(host(scope=wide, own=20.0, seen=8.0, busy=28.0)) == 1


@pytest.mark.parametrize("change", [{"own": None}, {"seen": None}])
def test_what_is_not_known_is_no_disturbance(change: dict[str, None]) -> None:
    assert host(busy=4.0, **change) == ()


def test_what_is_stolen_from_ranks_that_are_not_pinned_goes_on_at_another_core() -> None:
    free = replace(QUIET.scope, pinned=False)
    assert host(stolen=0.4, scope=free) == ()
    assert host(stolen=0.8, scope=free) == ("other virtual machines took 0.40 of 2 cores (steal time)",)


def test_stolen_time_swap_and_memory() -> None:
    assert host(stolen=0.4) == ("other virtual machines took 0.20 of 2 cores (steal time)",)
    assert host(swapped_in=12_300_000) == ("12.3 MB were swapped in",)
    assert host(swapped_out=50_000_000) == ("50.0 MB were swapped out",)
    assert host(stalled={"memory": 0.5}) == ("programs waited for memory 25 % of the time",)


H100 = "NVIDIA H100 80GB HBM3"


def sample(time: float, clock: float | None = 1755, reasons: int = 0x4, thermal: float = 5.0) -> GpuSample:
    return GpuSample(time, clock, reasons, thermal, 0.0)


def gpu(number: int, samples: list[GpuSample] | None = None, before: Any = (), after: Any = (), **more: Any) -> GpuUse:
    healthy = GpuState(f"GPU-{number}", H100, 700.0, 700.0, 3, 0, False, ())
    taken = [sample(time) for time in (0.0, 1.0, 2.0, 3.0)] if samples is None else samples
    return GpuUse(
        number,
        (f"worker:{number}",),
        replace(healthy, **dict(before)),
        replace(healthy, **dict(after)),
        tuple(taken),
        **more,
    )


def test_what_comes_from_outside_is_what_others_did() -> None:
    """Swap and memory pressure may be the run's own doing, and so may a GPU's heat."""
    all_at_once = replace(QUIET, own=2.3, seen=1.6, stolen=1.0, swapped_in=50_000_000, swapped_out=50_000_000)
    everything = host_disturbances(replace(all_at_once, stalled={"memory": 1.0}))
    assert [text.split(" ")[0] for text in everything] == ["other", "other", "50.0", "50.0", "programs"]
    assert host_outside(replace(all_at_once, stalled={"memory": 1.0})) == everything[:2]
    assert host_outside(QUIET) == host_outside(None) == ()
    hot = gpu(0, [sample(time, reasons=0x40) for time in (0.0, 1.0, 2.0, 3.0)], foreign={7: "python"})
    seen = gpu_disturbances([hot], 0.5, 2.5)
    assert len(seen) == 2
    assert gpu_outside([hot]) == seen[1:]
    assert seen[1].endswith("was used by others before the run: python (pid 7)")


def gpus(*uses: GpuUse, start: float = 0.5, end: float = 2.5) -> tuple[str, ...]:
    return gpu_disturbances(uses, start, end)


def test_full_load_at_the_default_power_limit_is_normal() -> None:
    assert gpus(gpu(0), gpu(1)) == ()


def test_idle_and_set_clocks_are_normal() -> None:
    assert gpus(gpu(0, [sample(1.0, reasons=0x1 | 0x2 | 0x10 | 0x100)])) == ()


def test_heat_by_its_counter_while_the_windows_ran() -> None:
    hot = [sample(0.0), sample(1.0, reasons=0x20, thermal=5.04), sample(2.0, thermal=5.34), sample(3.0, thermal=5.34)]
    assert gpus(gpu(1, hot)) == (f"GPU 1 ({H100}) was throttled for 340 ms of the run: too hot (SW thermal slowdown)",)
    before = [sample(0.0, thermal=1.0), sample(1.0, thermal=9.0), sample(2.0, thermal=9.0), sample(3.0, thermal=9.0)]
    assert gpus(gpu(1, before), start=1.5) == ()


def test_what_stops_the_clock_without_a_counter() -> None:
    braked = [GpuSample(t, 600, 0x88 if t == 1.0 else 0, None, None) for t in (0.0, 1.0, 2.0)]
    assert gpus(gpu(0, braked)) == (f"GPU 0 ({H100}) was throttled in 1 of 2 looks: power supply (HW power brake)",)
    general = [GpuSample(1.0, 600, 0x08, None, None)]
    assert "heat or power supply (HW slowdown)" in gpus(gpu(0, general))[0]


def test_a_clock_below_the_other_gpus() -> None:
    slow = gpu(2, [sample(1.0, 1395), sample(2.0, 1395)])
    assert gpus(gpu(0), gpu(1), slow) == (
        f"GPU 2 ({H100}) ran at 1 395 MHz, the run's other GPUs at 1 755 MHz: power cap (SW power cap)",
    )
    assert gpu_note(slow, [gpu(0), gpu(1), slow], 0.5, 2.5) == "its clock was 1 395 MHz, the others' 1 755 MHz"
    assert gpu_note(gpu(0), [gpu(0), slow], 0.5, 2.5) == ""
    assert gpus(gpu(0), gpu(1, [sample(1.0, 1650)])) == ()
    assert gpus(slow) == ()  # nothing to hold it against


def test_what_another_run_would_show_again() -> None:
    uses = [
        gpu(0, after={"power_limit": 400.0}),
        gpu(1, after={"uncorrected_errors": 2}),
        gpu(2, after={"remap_pending": True}),
    ]
    expected = (
        f"GPU 0 ({H100}) has a power limit of 400 W, under its default of 700 W",
        f"GPU 1 ({H100}) has had 2 uncorrected memory errors (ECC) since its driver was loaded",
        f"GPU 2 ({H100}) waits for a reset to replace a bad row of its memory",
    )
    assert lasting_disturbances(uses) == expected
    assert gpus(*uses) == expected


def test_errors_that_grew_and_other_users() -> None:
    assert gpus(gpu(0, after={"corrected_errors": 4})) == (
        f"GPU 0 ({H100}) corrected 1 memory error (ECC) during the run",
    )
    assert gpus(gpu(0, foreign={4242: "python", 7: "a process"})) == (
        f"GPU 0 ({H100}) was used by others before the run: a process (pid 7), python (pid 4242)",
    )


def test_a_card_that_tells_nothing() -> None:
    bare = GpuState("GPU-0", "GPU")
    assert gpus(GpuUse(0, ("worker:0",), bare, bare, (GpuSample(1.0, None, None, None, None),))) == ()
    assert gpus(GpuUse(0, ("worker:0",), bare, bare, ())) == ()


def test_clocks_are_those_of_the_windows() -> None:
    use = gpu(0, [sample(0.0, 300), sample(1.0, 1700), sample(1.2, 1800), sample(1.4, 1750), sample(9.0, 210)])
    assert clock_of(use, 0.5, 2.5) == 1750
    assert clock_of(use, 5.0, 5.1) == 1750  # nothing was sampled in so short a time: the nearest
    assert clock_of(gpu(0, [sample(1.0, None)]), 0.5, 2.5) is None
