"""How far two groups of runs are apart, on a log scale, and what of the uncertainty comes from where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """Mean of logs now minus mean of logs before, with the variance of that difference at both levels of noise."""

    log_ratio: float
    within: float
    """Variance from the noise of the runs."""
    within_freedom: float
    """Degrees of freedom of `within`; 0 where the noise of the runs is not known."""
    run_variance: float
    """Variance of one run, from which `within` follows at other counts: run_variance x (1 / runs + base_share)."""
    base_share: float
    """1 / (effective runs) of what is held against; 0 for a constant and for pairs."""
    runs: int
    """Runs now."""
    between: float = 0.0
    """Variance from differences between sessions, those of the session that measures now included."""
    between_of_runs: float = 0.0
    """What `between` would be on average if sessions differed by no more than the noise of their runs."""
    between_freedom: float = 0.0
    """Degrees of freedom of `between`; 0 where there is one session only, so that nothing is known of it."""

    def freedom_with(self, within: float, within_freedom: float) -> float:
        """Degrees of freedom of `between` and that noise of the runs together.

        F. E. Satterthwaite, Biometrics Bulletin 2 (1946).
        """
        if self.between <= 0 or within_freedom <= 0:
            return within_freedom
        parts = within**2 / within_freedom + self.between**2 / self.between_freedom
        return (within + self.between) ** 2 / parts
