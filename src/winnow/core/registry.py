"""The one registry of signals, scores, selectors, sources, networks and engines.

A decorator records what a method says about itself. Everything that lists methods, or looks one up, reads this
registry and nothing else. It is filled from two sides: winnow's own rooms, imported by name when first needed, and
anyone's package (`plugins`).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, cast, get_args, overload

from .errors import InputError, UnknownNameError
from .plugins import load_plugins
from .registration import (
    AGAIN,
    ALL_TASKS,
    STACKED,
    Adapter,
    ArrayLayout,
    Cost,
    Kind,
    MakeUp,
    Method,
    Moment,
    Network,
    Registration,
    Signal,
    check_moment,
)

__all__ = [
    "AGAIN",
    "ALL_TASKS",
    "KINDS",
    "STACKED",
    "Cost",
    "Kind",
    "ArrayLayout",
    "Method",
    "Signal",
    "engine",
    "get",
    "layout_of",
    "listing",
    "network",
    "score",
    "selector",
    "signal",
    "signal_of",
    "source",
]

F = TypeVar("F", bound=Callable[..., Any])
KINDS: tuple[Kind, ...] = get_args(Kind)
_ROOMS: dict[Kind, tuple[str, ...]] = {
    "signal": (
        "winnow.signals.dynamics",
        "winnow.signals.embeddings",
        "winnow.signals.gradients",
        "winnow.signals.ensemble",
        "winnow.methods.lpntk.signal",
    ),
    "score": ("winnow.scores",),
    "selector": ("winnow.selectors",),
    "source": ("winnow.sources.open",),
    "network": ("winnow.models",),
    "engine": ("winnow.engines",),
}
_known: dict[Kind, dict[str, Registration]] = {kind: {} for kind in KINDS}
ONCE, LOOK = Cost(), Cost("look")


def score(
    *, needs: Iterable[str], paper: str, tasks: Iterable[str] = ("classification",), cost: Cost = ONCE
) -> Callable[[F], F]:
    """Register a score: a pure function from Signals to one number per example, higher = harder.

    Parameters
    ----------
    needs
        Names of the arrays of Signals it reads.
    paper
        Who proposed it, for the listing.
    tasks
        The tasks for which it is defined.
    cost
        How its time and memory grow.
    """
    about: dict[str, Any] = {"needs": frozenset(needs), "paper": paper, "tasks": frozenset(tasks), "cost": cost}
    return _registrar(lambda function: Method("score", function.__name__, function, **about))


def selector(
    *,
    needs: Iterable[str],
    paper: str,
    default_score: str | None = None,
    tasks: Iterable[str] = ALL_TASKS,
    by_group: bool = False,
    cost: Cost | Callable[..., Cost] = ONCE,
) -> Callable[[F], F]:
    """Register a selector: a function from a Pool and a size to a Choice.

    Parameters
    ----------
    needs
        `scores` and names of arrays of Signals it reads.
    paper
        Who proposed it, for the listing.
    default_score
        The score it is usually run on, for those that need one.
    tasks
        The tasks for which it is defined.
    by_group
        Whether its weights stand for everything it chose from, so that under quotas each class is chosen from once,
        with all that falls to it, and there is no pass over what is left.
    cost
        How its time and memory grow, or a function of its parameters that says so.
    """
    about: dict[str, Any] = {"needs": frozenset(needs), "paper": paper, "tasks": frozenset(tasks), "cost": cost}
    about |= {"default_score": default_score, "by_group": by_group}
    return _registrar(lambda function: Method("selector", function.__name__, function, **about))


def signal(
    *,
    arrays: Mapping[str, tuple[str | int, ...] | ArrayLayout],
    when: Moment = "trained",
    tasks: Iterable[str] = ("classification", "regression"),
    cost: Cost = LOOK,
    paper: str = "",
    make_up: MakeUp | None = None,
) -> Callable[[F], F]:
    """Register a signal: a function from a Look (network, examples, what was asked) to arrays by name.

    The function leaves out the first axis if that is `seeds` or `models`: it sees one training.

    Parameters
    ----------
    arrays
        The arrays it gives and the axes of each, such as `("seeds", "examples", "projection")`; an `ArrayLayout` if
        the numbers are not float32. An array made of classes may be missing for a regression.
    when
        `trained`: once, after the training. `epoch`: after the epoch that `gradient_epoch` of observe names.
        `training`: the function is called before the training and returns a watcher of it. `ensemble`: for each
        model of a subset ensemble. `data`: from the examples alone, without any network or label.
    tasks
        The tasks for which it is defined.
    cost
        `Cost("look")` for a forward pass per example, `Cost("gradient")` for a gradient of its own per example.
    paper
        Who proposed it, for the listing.
    make_up
        A function of sizes, labels, hardness and a random generator that makes plausible arrays, stacked axis
        included; noise of the declared shapes if not given. `winnow.testing` checks scores on them: where hardness
        (0 to 1) is higher, the example should look harder.
    """
    check_moment(when)
    layouts = {
        name: given if isinstance(given, ArrayLayout) else ArrayLayout(tuple(given)) for name, given in arrays.items()
    }
    about: dict[str, Any] = {"arrays": layouts, "when": when, "tasks": frozenset(tasks), "cost": cost}
    about |= {"paper": paper, "make_up": make_up}
    for name, layout in layouts.items():
        if _layouts().get(name, layout) != layout:
            raise InputError(f"an array named {name!r} is registered already, with axes {_layouts()[name].axes}.")
    return _registrar(lambda function: Signal("signal", function.__name__, function, **about))


def source(
    *,
    reads: str,
    endings: Iterable[str] = (),
    folder: Callable[[Any], object] | None = None,
    value: Callable[[Any], object] | None = None,
    name: str | None = None,
) -> Callable[[F], F]:
    """Register an adapter: a function from what `wn.open` was given and an `OpenRequest` to a Source.

    Adapters of other packages are asked before winnow's own, because they know their format best; within a package,
    in the order of their registration. The `origin` of a source says which adapter opened it.

    Parameters
    ----------
    reads
        What it reads, in a word or two, for error messages.
    endings
        How the paths it opens end, in lower case: of files, and of folders that are a format of their own.
    folder
        Whether it opens the folder at a path, by what the folder holds.
    value
        Whether it opens an object in memory, or a text that is no path.
    name
        In the listing; the function's name if not given.
    """
    about: dict[str, Any] = {"reads": reads, "endings": tuple(endings), "folder": folder, "value": value}
    return _registrar(lambda function: Adapter("source", name or function.__name__, function, **about))


def network(*, shape: tuple[int, ...], paper: str = "") -> Callable[[F], F]:
    """Register a network: a function of the number of outputs, the shape of an example and options by name.

    Parameters
    ----------
    shape
        The shape of an example if none is given.
    paper
        Who proposed it, for the listing.
    """
    tasks = frozenset(("classification", "regression"))
    return _registrar(
        lambda function: Network("network", function.__name__, function, paper=paper, tasks=tasks, shape=shape)
    )


def engine(*, name: str) -> Callable[[F], F]:
    """Register an engine: a class, or a function without arguments, that gives something with the method `map`."""
    return _registrar(lambda function: Registration("engine", name, function))


@overload
def get(kind: Literal["score", "selector"], name: str) -> Method: ...
@overload
def get(kind: Literal["signal"], name: str) -> Signal: ...
@overload
def get(kind: Literal["source"], name: str) -> Adapter: ...
@overload
def get(kind: Literal["network"], name: str) -> Network: ...
@overload
def get(kind: Kind, name: str) -> Registration: ...
def get(kind: Kind, name: str) -> Registration:
    """What is registered under that name; an unknown one is refused with the nearest known."""
    known = _filled(kind)
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError.of(kind, name, known)
    return known[name]


@overload
def listing(kind: Literal["score", "selector"]) -> list[Method]: ...
@overload
def listing(kind: Literal["signal"]) -> list[Signal]: ...
@overload
def listing(kind: Literal["source"]) -> list[Adapter]: ...
@overload
def listing(kind: Literal["network"]) -> list[Network]: ...
@overload
def listing(kind: Kind) -> list[Registration]: ...
def listing(kind: Kind) -> Any:
    """All of a kind, by name; sources in the order they are asked in."""
    known = _filled(kind)
    if kind == "source":
        return sorted(known.values(), key=lambda entry: entry.package == "winnow")
    return [method for _, method in sorted(known.items())]


def layout_of(array: str) -> ArrayLayout:
    """How an array of Signals is laid out; rooms and plugins are loaded only if it is not known yet."""
    name = array.removesuffix(AGAIN)
    found = _layouts().get(name)
    if found is None:
        _filled("signal")
        found = _layouts().get(name)
    if found is None or (array != name and found.stacked):
        known = sorted(_layouts())
        raise InputError(f"signals know no array {array!r}; known: {', '.join(known)}.")
    return found


def signal_of(array: str) -> Signal | None:
    """The signal to ask `observe` for to get an array; None if no registered signal gives it."""
    known = cast(dict[str, Signal], _filled("signal"))
    name = array.removesuffix(AGAIN)
    given = [entry for entry in known.values() if name in entry.arrays]
    return known[name] if known.get(name) in given else next(iter(given), None)


def _layouts() -> dict[str, ArrayLayout]:
    return {
        name: layout
        for entry in cast(dict[str, Signal], _known["signal"]).values()
        for name, layout in entry.arrays.items()
    }


def _registrar(describe: Callable[[Any], Registration]) -> Callable[[F], F]:
    def register(function: F) -> F:
        _add(describe(function))
        return function

    return register


def _add(entry: Registration) -> None:
    """Keep an entry; of two with one name, winnow's own stays, whichever was imported first."""
    known = _known[entry.kind]
    there = known.get(entry.name)
    if there is not None and there.function.__module__ != entry.function.__module__:
        if entry.package != "winnow" or there.package == "winnow":
            raise InputError(f"a {entry.kind} named {entry.name!r} is registered already.")
        warnings.warn(f"{entry.kind} {entry.name!r} of {there.package} is left out: winnow has one", stacklevel=4)
    known[entry.name] = entry


def _filled(kind: Kind) -> dict[str, Registration]:
    """The table of a kind once its rooms and all plugins are imported; by name, so that core depends on no room."""
    for room in _ROOMS[kind]:
        importlib.import_module(room)
    load_plugins(_known)
    return _known[kind]
