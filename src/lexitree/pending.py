"""`Pending`: a value that a GPU may still be computing, behind one method, `result`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Other = TypeVar("Other")


class Pending(Generic[Value]):
    """A value that may still be on its way from a GPU; on a CPU, it is there from the start.

    Args:
        wait: Waits for the value and returns it; it is called once for each call of `result`.
    """

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[], Value]) -> None:
        self._wait = wait

    def result(self) -> Value:
        """Wait for the value."""
        return self._wait()

    def then(self, function: Callable[[Value], Other]) -> Pending[Other]:
        """What a function makes of the value, once it is there."""
        return Pending(lambda: function(self._wait()))


def done(value: Value) -> Pending[Value]:
    """A value that is there already."""
    return Pending(lambda: value)
