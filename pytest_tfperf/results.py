"""What a session has measured and reported so far, in the order in which it did."""

from __future__ import annotations

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.diagnosis.suspects import findings_of
from pytest_tfperf.outcome import left_open
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.report.view import ArmView
from pytest_tfperf.telling import ArmReport


class Results:
    """Sweeps by test, and the reports of their arms by test and replica count."""

    def __init__(self, config: PerfConfig) -> None:
        self._config = config
        self.sweeps: dict[str, SweepResult] = {}
        self.unfinished: dict[str, SweepResult] = {}
        """What there is of sweeps that something ended half way: nothing is judged by it, but reports have it."""
        self.arms: dict[tuple[str, int], ArmReport] = {}

    @property
    def measured(self) -> tuple[SweepResult, ...]:
        """Of each sweep all that was measured, those that were not finished last."""
        return (*self.sweeps.values(), *(each for test, each in self.unfinished.items() if test not in self.sweeps))

    @property
    def views(self) -> tuple[ArmView, ...]:
        return tuple(report.view for report in self.arms.values())

    @property
    def left_open(self) -> tuple[str, ...]:
        """What --tfperf-strict would fail of the arms that passed without it, in a word each."""
        if self._config.strict:
            return ()
        return tuple(filter(None, (left_open(report.verdict, self._config) for report in self.arms.values())))

    @property
    def findings(self) -> tuple[str, ...]:
        """What the suspects that were tried add up to: one sentence for each file, on each kind of device."""
        tried = ((report.result.sweep.spec, report.suspect) for report in self.arms.values())
        return findings_of(
            (spec.test.partition("::")[0], spec.device, said) for spec, said in tried if said is not None
        )
