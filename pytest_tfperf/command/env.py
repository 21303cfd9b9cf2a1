"""`tfperf env`: what this machine is to the plugin, and what its tests would find missing here."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.command.codes import FINE
from pytest_tfperf.errors import MeasurementError, TensorFlowMissingError
from pytest_tfperf.measurement.cores import allowed_cores, cpu_quota, usable_cores
from pytest_tfperf.measurement.environment import read_environment
from pytest_tfperf.measurement.gpus import GpuSurvey, survey_gpus, too_few_gpus
from pytest_tfperf.records.arm import Device
from pytest_tfperf.units import plural

if TYPE_CHECKING:
    from pytest_tfperf.command.program import Subparsers

DEVICES: tuple[Device, ...] = ("cpu", "gpu")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "env",
        help="this machine: its baselines' folder, devices, and what tests would be skipped for",
        description="Show what numbers depend on here, the folder of this machine's baselines, its devices, and what "
        "tests would be skipped or fail for, and why. Nothing is measured, and TensorFlow is not imported.",
        allow_abbrev=False,
    )
    parser.add_argument("--baselines", metavar="DIR", type=Path, default=Path("baselines"), help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    machine = look(given.baselines)
    if given.json:
        print(json.dumps(asdict(machine), indent=2))
    else:
        for line in _lines(machine):
            print(line)
    return FINE


@dataclass(frozen=True)
class Key:
    """What the numbers of a device depend on."""

    name: str
    """Of the baselines' folder."""
    baselines: int
    """Baseline files in it; 0 where there is no such folder."""
    hard: dict[str, str | int]
    soft: dict[str, str]


@dataclass(frozen=True)
class Cores:
    """What CPU ranks can be pinned to."""

    usable: int
    allowed: tuple[int, ...]
    """Numbers of the cores of this process; empty where the system has no such thing."""
    quota: float | None
    """Cores' worth of time that a container grants; None: no limit."""
    pinned: int
    """How many of `allowed` CPU ranks are pinned to."""


@dataclass(frozen=True)
class Gpus:
    """Those that a program started here would see."""

    names: tuple[str, ...]
    identifiers: tuple[str, ...]
    interconnect: str
    driver: str
    why_none: str


@dataclass(frozen=True)
class Lack:
    """Tests that would not be measured here."""

    tests: str
    outcome: str
    """``skipped`` or ``error``."""
    reason: str


@dataclass(frozen=True)
class Machine:
    """All of it."""

    python: str
    tensorflow: str
    """Version; empty where it is not installed."""
    keys: dict[Device, Key]
    """By device; those that can be measured."""
    cores: Cores
    gpus: Gpus
    namespaces: bool
    """Whether a cluster can have a network of its own; else its ports are held."""
    links_missing: str
    """Why shaped links cannot be had; empty where they can."""
    lacks: tuple[Lack, ...]


def look(baselines: Path) -> Machine:
    """Ask the system; takes some tenths of a second, for a try at shaped links in a process of their own."""
    from pytest_tfperf.cluster.namespace import available
    from pytest_tfperf.cluster.network import why_no_links

    survey = survey_gpus()
    keys: dict[Device, Key] = {}
    for device in DEVICES:
        try:
            environment = read_environment(device, Path.cwd(), baselines=baselines, survey=survey)
        except MeasurementError:  # no GPU: said below
            continue
        stored = len(list((baselines / environment.name).glob("*.yaml")))
        keys[device] = Key(environment.name, stored, dict(environment.hard), dict(environment.soft))
    links = why_no_links()
    tensorflow = keys["cpu"].soft.get("tensorflow", "")
    usable, allowed = usable_cores(), allowed_cores()
    return Machine(
        python=sys.version.split()[0],
        tensorflow=tensorflow,
        keys=keys,
        cores=Cores(usable, allowed, cpu_quota(), usable if allowed else 0),
        gpus=Gpus(
            tuple(gpu.name for gpu in survey.gpus),
            tuple(gpu.identifier for gpu in survey.gpus),
            survey.interconnect,
            survey.driver,
            survey.reason,
        ),
        namespaces=available(),
        links_missing=links,
        lacks=tuple(_lacks(survey, links)),
    )


def _lacks(survey: GpuSurvey, links: str) -> Iterator[Lack]:
    if find_spec("tensorflow") is None:
        yield Lack("all that measure", "error", str(TensorFlowMissingError()))
    count = len(survey.gpus)
    more = "marked gpu" if not count else f"marked gpu, of more than {plural(count, 'replica')}"
    yield Lack(more, "skipped", too_few_gpus(count + 1, survey.gpus, survey.reason))
    if links:
        yield Lack("with a link", "skipped", links)


def _lines(machine: Machine) -> Iterator[str]:
    for device in DEVICES:
        key = machine.keys.get(device)
        if key is None:
            yield f"{device}  cannot be measured: {machine.gpus.why_none}"
            continue
        stored = plural(key.baselines, "baseline") if key.baselines else "no baselines yet"
        yield f"{device}  {key.name}, {stored}"
        yield f"     hard: {_facts(key.hard)}"
        yield f"     soft: {_facts(key.soft)}"
    cores, gpus = machine.cores, machine.gpus
    quota = "" if cores.quota is None else f", a container's quota grants {cores.quota:g} of them"
    numbers = f"numbers {_ranges(cores.allowed)}" if cores.allowed else "which cannot be pinned here"
    yield f"cores       {cores.usable} usable, {numbers}{quota}"
    if cores.allowed:
        share = "the cores" if cores.pinned == len(cores.allowed) else f"{cores.pinned} of the cores, the least busy"
        yield f"CPU ranks   each pinned to its share of {share}; of more than {cores.pinned} ranks, some share one"
    if gpus.names:
        yield f"GPUs        {len(gpus.names)}, driver {gpus.driver}, {_joined(gpus)}"
        yield from (f"              {name}, {uuid}" for name, uuid in zip(gpus.names, gpus.identifiers))
    else:
        yield f"GPUs        none: {gpus.why_none}"
    private = "each cluster gets one of its own" if machine.namespaces else "none, so a cluster's ports are held"
    yield f"network     {private}"
    yield f"links       {'no: ' + machine.links_missing if machine.links_missing else 'can be shaped'}"
    yield f"TensorFlow  {machine.tensorflow or 'not installed'}"
    yield "Tests that would not be measured here:"
    yield from (f"  {lack.tests}: {lack.outcome}, {lack.reason}" for lack in machine.lacks)


def _facts(facts: dict[str, str] | dict[str, str | int]) -> str:
    return ", ".join(f"{key} {value}" for key, value in facts.items())


def _joined(gpus: Gpus) -> str:
    if len(gpus.names) < 2:
        return "alone"
    if gpus.interconnect.startswith("nv"):
        return f"every two joined by at least {plural(int(gpus.interconnect[2:]), 'NVLink')}"
    return "not all joined by NVLink, so PCIe counts"


def _ranges(numbers: tuple[int, ...]) -> str:
    """``0-3, 8``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)
