"""A node on a host whose clock is off: `python skewed.py SECONDS up FILE ...`."""

import sys

from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.times.instants import SECOND


class Skewed(SystemRuntime):
    def __init__(self, ahead: int) -> None:
        self._ahead = ahead

    def now(self) -> int:
        return super().now() + self._ahead


if __name__ == "__main__":
    commands(args=sys.argv[2:], obj=Skewed(int(float(sys.argv[1]) * SECOND)))
