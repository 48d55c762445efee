"""Change the class of a tokenizer object to a subclass, and keep the object picklable and copyable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Brand(NamedTuple):
    """Describes a subclass: its name, the bases that follow the current class, and its class attributes."""

    name: str
    bases: tuple[type, ...]
    attributes: dict[str, Any]


def rebrand(tokenizer: Any, brand: Callable[[Any], Brand]) -> Any:
    """Changes the class of an accelerated tokenizer, in place, to the subclass that `brand` describes.

    Args:
        tokenizer: An accelerated tokenizer (`LoptMixin`), which copies itself through `__reduce__`.
        brand: Describes the subclass of the class it is given. A module-level function: pickles name it.

    Returns:
        The same object. Copies and unpickled objects have the subclass too.
    """
    tokenizer.__class__ = _subclass(type(tokenizer), brand)
    return tokenizer


def _subclass(base: Any, brand: Callable[[Any], Brand]) -> Any:
    def reduce(self: Any) -> tuple[Any, ...]:
        plain: Any = object.__new__(base)
        plain.__dict__.update(self.__dict__)
        return rebrand, (plain, brand)

    # Not a cache: engines make a class per tokenizer, and a cache would keep these classes alive. Not under a lock: of
    # two threads, each may make a class, and a child of a fork would wait for a lock that another thread had.
    for subclass in base.__subclasses__():
        if vars(subclass).get("_lopt_brand") is brand:
            return subclass
    name, bases, attributes = brand(base)
    default = {"__module__": brand.__module__, "__doc__": base.__doc__, "_lopt_brand": brand}
    return type(name, (base, *bases), default | {"__reduce__": reduce} | attributes)
