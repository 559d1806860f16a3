"""A node on a host whose clock is wrong: `python skewed.py SECONDS up FILE ...`."""

import sys

from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.times.instants import SECOND


class Skewed(Runtime):
    def __init__(self, ahead: int) -> None:
        self._ahead = ahead

    def now(self) -> int:
        return super().now() + self._ahead


if __name__ == "__main__":
    commands(args=sys.argv[2:], obj=Skewed(int(float(sys.argv[1]) * SECOND)))
