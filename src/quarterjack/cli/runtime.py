"""What commands need from the process they run in: the clock, the user, the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from quarterjack.clock import SystemClock


class Runtime(SystemClock):
    environment: Mapping[str, str] = os.environ

    @property
    def user(self) -> str:
        """The operating system's name of the user."""
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may know no names
            return f"uid {os.getuid()}"
