"""A pytest plugin for suites that tests run: their sessions lock folders of the test's own for the machine's cores.

TFPERF_TEST_DEVICES says where, so that no other session of this user is waited for.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest_tfperf.session
from pytest_tfperf.measurement.device_lock import core_folders

_OWN = functools.partial(core_folders, root=Path(os.environ["TFPERF_TEST_DEVICES"]))
setattr(pytest_tfperf.session, "core_folders", _OWN)  # noqa: B010
