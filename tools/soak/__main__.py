"""Starts hundreds of clusters in one session, or dozens of sessions in a row, and exits with 1 where something grows.

    python -m tools.soak clusters [--count 500] [--records FILE]
    python -m tools.soak sessions [--count 50] [--records FILE]
    python -m tools.soak clusters --count 30 --kinds plain --leak descriptor --leak thread
    python -m tools.soak judge --records FILE

After each it counts what there is: memory of pytest's process and of the supervisor, descriptors, threads, processes,
files, shared memory and semaphores, network namespaces and ports. How it judges is in `tools.soak.growth`. Exit code 2
is for too little data. `--leak` puts one in, to see that it is named. The records are lines of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tools.soak import census
from tools.soak.kinds import KINDS, LIGHT
from tools.soak.leaks import LEAKS, NEED_NAMESPACES

if TYPE_CHECKING:
    # Not before a soak has moved into its namespaces: NumPy starts threads, and a process that has any is not let in.
    from tools.soak.growth import Growth

MIX = ("plain", "raises", "converted", "ps", "in_process", "dies", "plain", "ring", "linked", "hangs", "ps_async")
"""What a session of many clusters has of each kind."""


def tell(found: Sequence[Growth]) -> int:
    """Print it, and give the exit code."""
    width = max(len(one.name) for one in found)
    for one in found:
        print(f"{one.answer:9}  {one.name:{width}}  {one.first:10.5g} -> {one.last:<10.5g}  {one.text}")
    grew = [one.name for one in found if one.answer == "grew"]
    undecided = [one.name for one in found if one.answer == "undecided"]
    print(f"grew: {', '.join(grew) or 'nothing'}" + (f"; undecided: {', '.join(undecided)}" if undecided else ""))
    return 1 if grew else 2 if undecided else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["clusters", "sessions", "judge"])
    parser.add_argument("--count", type=int, help="how many (default: 500 clusters, 50 sessions)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=MIX, help="kinds of clusters, in turn")
    parser.add_argument("--leak", action="append", choices=LEAKS, default=[], help="leak this after every cluster")
    parser.add_argument("--records", type=Path, help="file for a line of JSON for each")
    given = parser.parse_args()
    if given.what == "judge":
        if given.records is None:
            parser.error("judge needs --records")
        return tell(judged(given.records))
    if given.what == "sessions" and set(given.leak) - {"file"}:
        parser.error("sessions leak files only: --leak file")
    isolated = given.what == "clusters" and census.alone()
    if given.what == "clusters" and not isolated:
        print("This kernel gives no namespaces: shared memory and semaphores are not counted.")
        if set(given.leak) & set(NEED_NAMESPACES):
            parser.error(f"only in namespaces: --leak {' '.join(NEED_NAMESPACES)}")
    with given.records.open("w+") if given.records else tempfile.TemporaryFile("w+") as out:
        return tell(soak(given, out, isolated=isolated))


def judged(records: Path) -> list[Growth]:
    """What earlier records say."""
    from tools.soak import clusters, sessions

    lines = [json.loads(line) for line in records.read_text().splitlines()]
    if "kind" in lines[0]:
        return clusters.judged([clusters.Record(**one) for one in lines])
    return sessions.judged([sessions.Record(**one) for one in lines])


def soak(given: argparse.Namespace, out: IO[str], *, isolated: bool) -> list[Growth]:
    from tools.soak import clusters, sessions

    if given.what == "sessions":
        return sessions.run(given.count or 50, out, leaks=bool(given.leak))
    preload = () if set(given.kinds) <= set(LIGHT) else ("tensorflow",)
    leaks = [LEAKS[name] for name in given.leak]
    return clusters.soak(given.kinds, given.count or 500, out, leaks=leaks, isolated=isolated, preload=preload)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # TensorFlow's servers of in-process clusters need not be waited for
