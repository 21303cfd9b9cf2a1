"""`python -m pytest_tfperf` is the command `tfperf`."""

from __future__ import annotations

import sys

from pytest_tfperf.command import main

if __name__ == "__main__":
    sys.exit(main())
