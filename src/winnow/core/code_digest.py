"""A digest of code: of a function, of what it calls, and of the constants that it reads.

A step's key holds the digest of the code that makes its result, so that a changed method or model never meets an old
result, while a new version of winnow that leaves this code alone finds the old one. What counts is what Python runs:
comments, docstrings and places in a file do not.

From a function the walk goes to the functions, classes and constants that it names, in its own package, or in files
of the user. Libraries are not entered. What a function imports when it is called counts as a whole file, because it
may not be loaded yet. Methods of winnow that are looked up by name (`registry`) are not found in this way: the key of a
step names them (`Registration.code`). Parts of winnow that decide no number do not count (`APART`).
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.util
import math
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .files import file_digest, fingerprint

__all__ = ["code_digest", "coded", "of_the_user", "said_value"]

OWN = __name__.partition(".")[0]
APART = (  # errors, checks, progress, files; where work runs; how an artefact is shown
    f"{OWN}.core",
    f"{OWN}.engines",
    f"{OWN}.artefacts.notebook_view",
    f"{OWN}.artefacts.table",
)
COUNTED = (f"{OWN}.core.seeds", f"{OWN}.core.rank_correlation")
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def code_digest(*roots: Any) -> str:
    """Return a digest of functions, methods or classes and of all code of the same owner that they use.

    >>> def half(x): return x / 2
    >>> def third(x): return x / 3
    >>> code_digest(half) == code_digest(half), code_digest(half) == code_digest(third)
    (True, False)
    """
    parts = [_digest(root) for root in roots]
    return parts[0] if len(parts) == 1 else fingerprint(parts)


def coded(make: Callable[..., Any], key: object = None) -> list[Any]:
    """Return the key of a step that `make` makes: what it depends on, and the code."""
    return [key, code_digest(make)]


def _digest(root: Any) -> str:
    plain = isinstance(root, FunctionType) and root.__closure__ is None and _top(root.__module__) == OWN
    return _kept(root) if plain else _walked(root)


@functools.cache
def _kept(root: FunctionType) -> str:
    return _walked(root)


def _walked(root: Any) -> str:
    walk = _Walk(_module_of(root))
    walk.follow(root)
    return fingerprint(sorted(walk.found))


class _Walk:
    """Collects the code that a root reaches."""

    def __init__(self, module: str) -> None:
        self.top = _top(module)
        self.found: set[str] = set()
        self._seen: dict[int, Any] = {}  # holds on to what was seen, so that no address is used twice

    def follow(self, value: Any) -> None:
        """Add what a value does, if it is code of ours."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if id(one) in self._seen:
                continue
            self._seen[id(one)] = one
            waiting.extend(self._used(one))

    def _used(self, value: Any) -> Iterator[Any]:
        """Add one value, and yield what it uses."""
        if isinstance(value, functools.partial):
            yield from (value.func, *value.args, *value.keywords.values())
        elif isinstance(value, MethodType):
            yield from (value.__func__, type(value.__self__))
        elif isinstance(value, property):
            yield from (value.fget, value.fset)
        elif isinstance(value, FunctionType):
            if self._counts(value.__module__):
                yield from self._function(value)
            yield getattr(value, "__wrapped__", None)
        elif isinstance(value, type):
            if self._counts(value.__module__):
                yield from self._class(value)
        elif isinstance(value, tuple | list | set | frozenset):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()
        else:  # compiled, cached and wrapped functions; what else is named by a function of ours
            for name in ("py_func", "__wrapped__", "__func__", "func"):
                inner = _attribute(value, name) if not isinstance(value, (*PLAIN, ModuleType)) else None
                if isinstance(inner, FunctionType):
                    yield inner

    def _function(self, function: FunctionType) -> Iterator[Any]:
        names = sorted(set(_names(function.__code__)))
        known = function.__globals__
        said = [f"{function.__module__}:{function.__qualname__}", *_said(function.__code__, function.__doc__)]
        said += [_repr(function.__defaults__), _repr(function.__kwdefaults__)]
        for name in names:
            if name not in known:
                continue
            value = known[name]
            if isinstance(value, ModuleType):
                if self._counts(value.__name__):
                    yield from (getattr(value, inner) for inner in names if hasattr(value, inner))
            elif self._constant(name, value):
                said.append(f"{name}={_repr(value)}")
                yield value
            elif not isinstance(value, list | set | dict):  # one that is filled as the program runs says nothing
                yield value
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            yield held if callable(held) or not self._ours(type(held).__module__) else type(held)
        said += self._imported(function)
        self.found.add("\n".join(said))

    def _class(self, kind: type) -> Iterator[Any]:
        said = [f"{kind.__module__}:{kind.__qualname__}", *(base.__qualname__ for base in kind.__bases__)]
        for name, value in sorted(vars(kind).items()):
            if isinstance(value, (*PLAIN, tuple, frozenset)) and not (name.startswith("__") and name.endswith("__")):
                said.append(f"{name}={_repr(value)}")
            elif not isinstance(value, type):
                yield value
        self.found.add("\n".join(said))
        yield from kind.__bases__

    def _constant(self, name: str, value: Any) -> bool:
        """Whether a global value is a constant: of winnow, a container must be named like one."""
        if isinstance(value, (*PLAIN, tuple, frozenset)):
            return not name.startswith("__")
        fixed = self.top != OWN or name.isupper()
        return fixed and (isinstance(value, list | set | dict) or _is_array(value))

    def _imported(self, function: FunctionType) -> list[str]:
        """The files of ours that a function imports when it is called."""
        package = function.__globals__.get("__package__") or ""
        found = []
        for name in sorted(set(_imports(function.__code__, package))):
            if self._counts(name) and (file := _file_of(name)) is not None:
                found.append(f"{name} {file_digest(file)}")
        return found

    def _ours(self, module: str) -> bool:
        return self.top == OWN and self._counts(module)

    def _counts(self, module: str) -> bool:
        """Whether the code of a module belongs to what is walked."""
        top = _top(module)
        if top == OWN or self.top == OWN:
            apart = any(module == one or module.startswith(f"{one}.") for one in APART)
            return top == self.top and (not apart or module in COUNTED)
        return top == self.top or of_the_user(top)


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _module_of(root: Any) -> str:
    if isinstance(root, functools.partial):
        return _module_of(root.func)
    return getattr(root, "__module__", None) or type(root).__module__


@functools.cache
def of_the_user(top: str) -> bool:
    """Whether a package, named without its parts, is neither Python's nor installed."""
    if top in sys.stdlib_module_names and top != "__main__":
        return False
    loaded = sys.modules.get(top)
    file = getattr(loaded, "__file__", None) if loaded is not None else _file_of(top)
    if file is None:
        return loaded is not None
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return not any(path and Path(file).is_relative_to(path) for path in paths)


def _file_of(module: str) -> str | None:
    """The file of a module, which is not loaded for it."""
    top, *parts = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    place = Path(spec.origin)
    for part in parts:  # by hand: looking for a part would load the whole
        found = (place.parent / f"{part}.py", place.parent / part / "__init__.py")
        if place.name != "__init__.py" or not any(file.is_file() for file in found):
            return None
        place = next(file for file in found if file.is_file())
    return str(place)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> Iterator[str]:
    for one in _codes(code):
        yield from one.co_names


def _said(code: CodeType, doc: str | None) -> Iterator[str]:
    """Yield what a function does, without its location in the file."""
    for one in _codes(code):
        yield one.co_code.hex()
        yield repr(one.co_names)
        yield from (_repr(value) for value in one.co_consts if not isinstance(value, CodeType) and value != doc)


def _imports(code: CodeType, package: str) -> Iterator[str]:
    """Yield the modules that a function imports by itself, by their full names."""
    for one in _codes(code):
        before: list[Any] = []
        for step in dis.get_instructions(one):
            if step.opname == "IMPORT_NAME":
                level, words = before[-2:]
                try:
                    name = importlib.util.resolve_name("." * level + step.argval, package)
                except ImportError:
                    continue
                yield from (name, *(f"{name}.{word}" for word in words or ()))
            if step.opname != "EXTENDED_ARG":
                before.append(step.argval)


def _repr(value: Any) -> str:
    """The text of a constant, the same in every process."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_repr, value)))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_repr, value))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_repr(name)}: {_repr(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, (*PLAIN, slice, type(...), range)):
        return repr(value)
    return _array(value) if _is_array(value) else _name(value)


def _attribute(value: Any, name: str) -> Any:
    """An attribute, or None; an object may raise what it likes when asked, as one of torch's does."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _is_array(value: Any) -> bool:
    return _attribute(value, "__array__") is not None


def _array(value: Any) -> str:
    import numpy as np

    try:
        rows = np.ascontiguousarray(value.detach().cpu() if hasattr(value, "detach") else value)
        return f"{rows.dtype}{rows.shape}{hashlib.blake2b(rows.tobytes(), digest_size=16).hexdigest()}"
    except (TypeError, ValueError, RuntimeError):
        return _name(value)


def _name(value: Any) -> str:
    if isinstance(value, FunctionType | type | BuiltinFunctionType):
        return f"{value.__module__}:{value.__qualname__}"
    return f"{type(value).__module__}:{type(value).__qualname__}"


def said_value(value: Any) -> str:
    """Return a constant, a function or an object in a text that is the same in every process."""
    top = _top(_module_of(value))
    code = callable(value) and (top == OWN or of_the_user(top))  # a library is known by its names
    return f"{_name(value)} {_digest(value)}" if code else _repr(value)
