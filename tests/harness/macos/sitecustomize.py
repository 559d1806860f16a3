"""Makes Python behave on Linux as it does on macOS, as far as this program notices. The folder of
this file is put on PYTHONPATH, so that every process of a test starts with it."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import sys
import sysconfig
import time
from types import SimpleNamespace
from typing import Any

_MISSING = {
    os: (
        "copy_file_range", "eventfd", "fdatasync", "memfd_create", "pidfd_open", "pipe2",
        "posix_fadvise", "posix_fallocate", "sched_getaffinity", "sched_setaffinity", "setns",
        "splice", "unshare", "waitid", "waitid_result",
    ),
    resource: ("prlimit", "RUSAGE_THREAD"),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
    socket: ("MSG_CMSG_CLOEXEC", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_PEERCRED"),
    time: ("CLOCK_BOOTTIME",),
}  # fmt: skip
_NOT_IN_LIBC = {"prctl", "inotify_init1", "inotify_add_watch"}
_stat = os.stat


def _refuse_proc(path: Any) -> None:
    if str(path).startswith("/proc"):
        raise FileNotFoundError(errno.ENOENT, "not on macOS", str(path))


def _stat_without_proc(path: Any, **options: Any) -> os.stat_result:
    _refuse_proc(path)
    return _stat(path, **options)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        _refuse_proc(arguments[0])
    if event == "ctypes.dlsym" and arguments[1] in _NOT_IN_LIBC:
        raise AttributeError(f"there is no {arguments[1]} on macOS")


sysconfig.get_config_vars()  # they stay those of this interpreter
sys.platform = "darwin"
proxies: Any = SimpleNamespace(_get_proxies=dict, _get_proxy_settings=dict)
sys.modules["_scproxy"] = proxies  # which `urllib` imports there
os.stat = _stat_without_proc
for module, names in _MISSING.items():
    for name in names:
        vars(module).pop(name, None)
sys.addaudithook(_refuse)
