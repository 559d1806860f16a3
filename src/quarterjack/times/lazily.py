"""Lazily: a value that is worked out when it is first asked for, and then kept.

As `functools.cached_property`, without the lock that Python 3.11 takes each time: two threads may
both work it out, and find the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazily(Generic[T]):  # noqa: N801 - it is used like a word, as `property` is
    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazily[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazily[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._work_out(instance)
        return value
