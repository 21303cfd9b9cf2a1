"""A pytest plugin for suites that tests run: their sessions lock folders of the test's own for the machine's cores.

TFPERF_TEST_DEVICES says where, so that no other session of this user is waited for.
"""

from __future__ import annotations

import os
from pathlib import Path

from pytest_tfperf.measurement.device_lock import core_folders

# Its default, and so for every module that has imported it.
core_folders.__defaults__ = (Path(os.environ["TFPERF_TEST_DEVICES"]),)
