"""What is known of an arm beyond its speed: where its variables lie, what a step moves, how links were used."""

from __future__ import annotations

from pytest_tfperf.diagnosis.traffic import describe_link, link_use
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.traffic import LinkUse
from pytest_tfperf.units import format_bytes, format_number, format_percent


def fact_lines(run: Run) -> tuple[str, ...]:
    """What the first training task said of its step, one fact a line."""
    return tuple(f"{name}: {value}" for name, value in run.tasks[0].facts.items())


def step_lines(run: Run) -> tuple[str, ...]:
    """Steps a second of one worker beside those of the whole job, where the two can be taken for each other."""
    workers = len(run.tasks)
    if workers == 1 or run.tasks[0].synchronous:
        return ()
    each = 1 / run.step_time
    return (f"steps/s: {format_number(each, 3)} of one worker, {format_number(workers * each, 3)} of the whole job",)


def link_lines(run: Run) -> tuple[str, ...]:
    """How each host used its link in the timed windows: bytes per step, utilisation, and who waited for what."""
    return tuple(line for host, use in link_uses(run).items() for line in _host_lines(run, host, use))


def link_uses(run: Run) -> dict[int, LinkUse]:
    """Use of each host's link in the time in which every worker was in its timed windows, per step of one worker."""
    if run.traffic is None:
        return {}
    # One worker's steps: what a host moves "per step" is what people hold against the size of a model.
    steps = max(1, round((run.end - run.start) / run.step_time))
    return {
        number: link_use(host, run.traffic.link, run.start, run.end, steps)
        for number, host in run.traffic.hosts.items()
    }


def _host_lines(run: Run, host: int, use: LinkUse) -> tuple[str, str]:
    trains = any(run.hosts.get(str(task.task)) == host for task in run.tasks)
    names = ", ".join(name for name, number in sorted(run.hosts.items()) if number == host)
    words = {"receives": "pull", "sends": "push"} if trains else {"receives": "push", "sends": "pull"}
    return (
        f"host {host} ({names}): a step receives {format_bytes(use.received_per_step)} and sends "
        f"{format_bytes(use.sent_per_step)}; mean utilisation "
        f"{format_percent(use.received_utilisation, decimals=0)} in, "
        f"{format_percent(use.sent_utilisation, decimals=0)} out",
        f"host {host}: {describe_link(use, **words)}",
    )
