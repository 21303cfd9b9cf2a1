"""Fails where a gate judged fewer arms than it should have: a session that skipped everything passes too.

    python judged.py REPORT.json --at-least 24

Reads what --tfperf-json writes, needs nothing but Python. Exit status 0: enough; 1: too few, and why; 2: no report.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

JUDGED = ("improved", "unchanged", "regressed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("--at-least", type=int, required=True, metavar="N", help="arms that must have been judged")
    given = parser.parse_args()
    reasons: Counter[str] = Counter()
    try:
        if not given.report.is_file():  # reading a named pipe would wait for ever
            raise OSError("no such file")
        cases = json.loads(given.report.read_bytes())["cases"]
        for case in cases:
            verdict = (case["judgement"] or {}).get("verdict")
            if verdict not in JUDGED:
                reasons[verdict or f"{case['outcome']}: {case['text'].partition(chr(10))[0]}".rstrip(": ")] += 1
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        print(f"{given.report}: no report of pytest-tfperf: {error}", file=sys.stderr)
        return 2
    judged = len(cases) - reasons.total()
    print(f"{judged} of {len(cases)} arms were judged, {given.at_least} are asked for")
    if judged >= given.at_least:
        return 0
    for reason, count in reasons.most_common():
        print(f"  {count} x {reason}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
