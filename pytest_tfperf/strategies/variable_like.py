"""Stands in for a variable whose values lie elsewhere: in several variables, or in a part of a larger one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any


class VariableLike:
    """Reads as one tensor; a subclass has `read()` and says `why` it is no variable.

    Where TensorFlow takes a tensor it takes this, once `register()` has been called.
    """

    why = ""

    def __init__(self, name: str, dtype: Any, shape: Any) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape

    def read(self) -> Any:
        """The value as a tensor of the default graph."""
        raise NotImplementedError

    def value(self) -> Any:
        """The same, by the names that a `tf.Variable` has for it."""
        return self.read()

    read_value = value

    __array_priority__ = 100
    """NumPy leaves operators with an array on the left to this, as it does for a `tf.Variable`."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __eq__(self, other: object) -> Any:
        # Of two such it is asked whether they are the same one, so that they can be found in lists.
        return self is other if isinstance(other, (VariableLike, str, type(None))) else self.read() == other

    def __ne__(self, other: object) -> Any:
        return self is not other if isinstance(other, (VariableLike, str, type(None))) else self.read() != other

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by Python itself, also of what is not made yet
            raise AttributeError(name)
        raise AttributeError(
            f"Variable {self.name!r} is {self.why} and has no {name!r}; use it where a tensor is expected."
        )


def register() -> None:
    """Make TensorFlow take a `VariableLike` for a tensor; call it in a process that has imported TensorFlow."""
    import tensorflow as tf

    tf.register_tensor_conversion_function(VariableLike, _as_tensor)


def _as_tensor(variable: VariableLike, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    import tensorflow as tf

    if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(variable.dtype):
        return NotImplemented
    return variable.read()


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_OTHERS = ("lt", "le", "gt", "ge", "getitem")
_UNARY = ("neg", "abs")


def _forwarded(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)
    return lambda variable, *others: function(variable.read(), *others)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)
    return lambda variable, other: function(other, variable.read())


# What `tf.Variable` can too.
for _name in (*_ARITHMETIC, *_OTHERS, *_UNARY):
    setattr(VariableLike, f"__{_name}__", _forwarded(_name))
for _name in _ARITHMETIC:
    setattr(VariableLike, f"__r{_name}__", _reflected(_name))
