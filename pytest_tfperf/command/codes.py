"""Exit codes, the same for every subcommand."""

from __future__ import annotations

FINE = 0
REGRESSED = 1
USAGE = 2
UNREADABLE = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""As shells have it: 128 and the number of the signal, here SIGPIPE."""

EPILOG = """\
exit codes:
  0  fine
  1  a regression was found (compare, history)
  2  the command line is wrong
  3  something could not be read, measured or compared; stderr says what and why
  130 and 141: ended by Ctrl-C, or by a pipe that nobody reads any more
"""
