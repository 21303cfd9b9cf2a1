"""Stands in for a variable whose values lie elsewhere: in several variables, or in a part of a larger one."""

from __future__ import annotations

import operator
from collections.abc import Callable
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

    def __getattr__(self, name: str) -> Any:
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


def _binary(name: str) -> Callable[[Any, Any], Any]:
    reflected = name.startswith("r")
    function = getattr(operator, name[1:] if reflected else name)

    def apply(variable: VariableLike, other: Any) -> Any:
        value = variable.read()
        return function(other, value) if reflected else function(value, other)

    return apply


for _name in ("add", "sub", "mul", "truediv", "matmul", "pow", "radd", "rsub", "rmul", "rtruediv", "rmatmul"):
    setattr(VariableLike, f"__{_name}__", _binary(_name))
