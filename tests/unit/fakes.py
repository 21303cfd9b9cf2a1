"""A clock that only moves when it is told to, and lines that would be on the screen."""

from __future__ import annotations


class FakeClock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def status(self, text: str) -> None:
        pass

    def line(self, text: str) -> None:
        self.lines.append(text)
