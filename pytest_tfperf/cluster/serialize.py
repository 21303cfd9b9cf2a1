"""Packs a function for a task, whatever pytest has done to import the module that it is in.

A task can import a module by name only if it finds the same file under the same name. Under ``--import-mode=importlib``
it often cannot, a conftest is one of many of that name, and a test module that pytest has rewritten is another one than
its file says. All of these go by value, the rest by reference.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from io import BytesIO
from types import CodeType, ModuleType
from typing import Any, cast

from pytest_tfperf.errors import UsageError

_OWN_PACKAGE = "pytest_tfperf"


def dumps(value: object) -> bytes:
    """Pickle a function and its arguments so that a task can load them. Raises UsageError where that cannot be."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """Keeps the file names of code, which cloudpickle drops.

        Without them a traceback from a task shows no source, and TensorFlow's AutoGraph, which reads the source,
        leaves the Python of a ``tf.function`` as it is.
        """

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):
                make, args = self.dispatch_table[CodeType](obj)
                return code_of_file, (make, args, obj.co_filename)
            return super().reducer_override(obj)

    try:
        with _by_value(modules_by_value()), BytesIO() as file:
            Pickler(file).dump(value)
            return file.getvalue()
    except Exception as error:
        raise UsageError(
            f"The function or one of its arguments cannot be sent to a task ({type(error).__name__}: {error}). "
            "What it uses from around it must be picklable: make locks, files and TensorFlow objects inside it."
        ) from error


def code_of_file(make: Callable[..., CodeType], args: tuple[object, ...], file: str) -> CodeType:
    """In a task: a code object with the name of its file."""
    return make(*args).replace(co_filename=file)


def modules_by_value() -> list[ModuleType]:
    """Imported modules that a task could not import as the same file under the same name."""
    found = []
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name != module.__name__ or name == "__main__":
            continue
        if name == _OWN_PACKAGE or name.startswith(_OWN_PACKAGE + "."):
            continue
        file = module.__dict__.get("__file__")
        if not isinstance(file, str) or _is_installed(file):
            continue
        if is_rewritten(module) or not is_importable(name, file):
            found.append(module)
    return found


def is_rewritten(module: ModuleType) -> bool:
    """Whether pytest has rewritten the module's assertions, as it does to test modules and conftests."""
    loader = getattr(module.__dict__.get("__spec__"), "loader", None)
    return type(loader).__name__ == "AssertionRewritingHook"


def is_importable(name: str, file: str) -> bool:
    """Whether a fresh process with this one's sys.path would import `file` for `name`."""
    path: Sequence[str] | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = _find_spec(".".join(parts[:count]), path)
        if spec is None:
            return False
        path = spec.submodule_search_locations
        if path is None and count < len(parts):
            return False
    return spec is not None and spec.origin is not None and _same(spec.origin, file)


def _find_spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    # Not importlib.util.find_spec(): for an imported module it only repeats what pytest has set.
    finders: list[object] = [importlib.machinery.PathFinder]
    # An editable install's finder is there in every interpreter of this environment.
    finders += [one for one in sys.meta_path if "editable" in getattr(one, "__module__", "")]
    for finder in finders:
        try:
            spec = finder.find_spec(name, path)  # type: ignore[attr-defined]
        except Exception:
            continue
        if spec is not None:
            return cast("ModuleSpec", spec)
    return None


def _installed_roots() -> tuple[str, ...]:
    paths = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    wanted = [path for path in paths if "packages" in path]
    wanted += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    return tuple(sorted({os.path.realpath(path) + os.sep for path in wanted}))


def _is_installed(file: str) -> bool:
    return os.path.realpath(file).startswith(_ROOTS)


_ROOTS = _installed_roots()


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@contextlib.contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in registered]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
