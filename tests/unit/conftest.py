"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: hypothesis would fail an example that took longer than 200 ms.
settings.register_profile("tfperf", deadline=None)
settings.load_profile("tfperf")
