"""Read CIFAR's python batches without unpickling them.

The batches are pickles, and a pickle is a program: `pickle.load` imports and calls whatever it names. Even an
Unpickler that allows only numpy's reconstructor still passes that function arguments chosen by the file. So nothing
is loaded here. `pickletools.genops` splits the bytes into opcodes without executing them, and the small stack
machine below knows only those that the batches use: constants, lists, tuples, dictionaries. A name such as
`numpy.core.multiarray._reconstruct` is pushed as text and never imported; the only "calls" are four patterns
recognised by that text, which this file turns into an array of plain numbers. Any other opcode or name raises an
error, so that no code from the data can run.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError, reason

__all__ = ["read_batch"]

_MARK = object()
_ARRAYS = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"}
_BUFFERS = {"numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer"}
_NAMES = _ARRAYS | _BUFFERS | {"numpy ndarray", "numpy dtype", "_codecs encode"}
_NUMBERS = "biuf"
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_LITERALS = {
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
    "BINBYTES",
    "SHORT_BINBYTES",
    "BINBYTES8",
    "BYTEARRAY8",
}
_OLD_STRINGS = {"BINSTRING", "SHORT_BINSTRING"}  # Python 2 text, which genops decodes as latin-1
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUTS = {"BINPUT", "LONG_BINPUT"}
_GETS = {"BINGET", "LONG_BINGET"}
_SILENT = {"PROTO", "FRAME"}


class _Refused(Exception):
    """The pickle contains something that a batch of images does not need."""


@dataclass(frozen=True)
class _Name:
    text: str


@dataclass
class _Type:
    code: str
    order: str = "|"


@dataclass
class _Array:
    values: Any = None


@dataclass
class _Machine:
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def to_mark(self) -> list[Any]:
        """Pop everything above the last mark, and the mark."""
        at = max(i for i, item in enumerate(self.stack) if item is _MARK)
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items


def read_batch(path: Path) -> dict[str, Any]:
    """Return the dictionary in a CIFAR batch: arrays, lists, text and numbers, with text keys."""
    try:
        found = _run(path.read_bytes())
    except _Refused as error:
        raise DataError(
            f"{path} is refused: it is a pickle that holds {error}, which no CIFAR batch does, and "
            "winnow runs no code from data."
        ) from None
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} cannot be read as a CIFAR batch: {reason(error)}.") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} is not a CIFAR batch: it holds a {type(found).__name__}, not a dictionary.")
    return {_text(key): value.values if isinstance(value, _Array) else value for key, value in found.items()}


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _run(data: bytes) -> Any:
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "STOP":
            return machine.stack.pop()
        _step(machine, opcode.name, argument)
    raise ValueError("it ends too early")


def _step(machine: _Machine, name: str, argument: Any) -> None:
    stack, memo = machine.stack, machine.memo
    if name in _SILENT:
        return
    if name in _LITERALS:
        stack.append(bytes(argument) if name == "BYTEARRAY8" else argument)
    elif name in _OLD_STRINGS:
        stack.append(argument.encode("latin-1"))
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name in _PUTS:
        memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in _GETS:
        stack.append(memo[argument])
    elif name in _TUPLES:
        count = _TUPLES[name]
        stack[-count:] = [tuple(stack[-count:])]
    else:
        _build(machine, name, argument)


def _build(machine: _Machine, name: str, argument: Any) -> None:
    """Handle the opcodes that combine values."""
    stack = machine.stack
    if name == "TUPLE":
        stack.append(tuple(machine.to_mark()))
    elif name == "APPEND":
        item = stack.pop()
        _a(list, stack[-1]).append(item)
    elif name == "APPENDS":
        items = machine.to_mark()
        _a(list, stack[-1]).extend(items)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        _a(dict, stack[-1])[key] = value
    elif name == "SETITEMS":
        items = machine.to_mark()
        _a(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
    elif name == "GLOBAL":
        stack.append(_known(argument))
    elif name == "STACK_GLOBAL":
        word, module = stack.pop(), stack.pop()
        stack.append(_known(f"{module} {word}"))
    elif name == "REDUCE":
        arguments, what = stack.pop(), stack.pop()
        stack.append(_made(what, arguments))
    elif name == "BUILD":
        state = stack.pop()
        _fill(stack[-1], state)
    else:
        raise _Refused(f"the opcode {name}")


def _a(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise _Refused(f"an item put into a {type(value).__name__}")
    return value


def _known(text: str) -> _Name:
    if text not in _NAMES:
        raise _Refused(f"the name {text.replace(' ', '.')!r}")
    return _Name(text)


def _made(what: Any, arguments: Any) -> Any:
    """Return the value that a call of a known name stands for."""
    if not isinstance(what, _Name) or not isinstance(arguments, tuple):
        raise _Refused("a call of something without a known name")
    if what.text == "numpy dtype":
        return _Type(_text(arguments[0]))
    if what.text in _ARRAYS:
        return _Array()
    if what.text in _BUFFERS:
        return _Array(_numbers(arguments[0], arguments[1], arguments[2], arguments[3] == "F"))
    if what.text == "_codecs encode" and _text(arguments[1]) in ("latin1", "latin-1"):
        return str(arguments[0]).encode("latin-1")
    raise _Refused(f"a call of {what.text.replace(' ', '.')!r}")


def _fill(target: Any, state: Any) -> None:
    """Set the state of a dtype (its byte order) or of an array (shape, dtype, order, bytes)."""
    if isinstance(target, _Type):
        target.order = _text(state[1])
    elif isinstance(target, _Array):
        _, shape, kind, fortran, data = state
        target.values = _numbers(data, kind, shape, bool(fortran))
    else:
        raise _Refused(f"a state for a {type(target).__name__}")


def _numbers(data: Any, kind: Any, shape: Any, fortran: bool) -> Any:
    if not isinstance(kind, _Type) or not isinstance(data, bytes):
        raise _Refused("an array of something other than numbers")
    dtype = np.dtype(kind.code)
    if dtype.kind not in _NUMBERS or dtype.names is not None:
        raise _Refused(f"an array of {kind.code!r}")
    if kind.order == ">":
        dtype = dtype.newbyteorder(">")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")
