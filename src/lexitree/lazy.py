"""`cached_property` without a lock.

Before Python 3.12, that of functools has one lock for all objects of a class, which stays locked for ever in a
process that was forked while another thread computed a property.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - named like the one in functools
        """A property that is computed once for each object; two threads that ask at once may compute it twice."""

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            # Once it is there, Python finds the value without asking here.
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


__all__ = ["cached_property"]
