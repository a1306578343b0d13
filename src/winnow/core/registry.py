"""The one registry of signals, scores, selectors, sources, networks and engines.

A decorator records what a method declares. Everything that lists methods or looks one up reads this registry and
nothing else. It is filled by winnow's own rooms, imported when first needed, and by other packages (`plugins`).
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
    "codes",
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
        "winnow.signals.out_of_fold",
        "winnow.signals.embeddings",
        "winnow.signals.gradients",
        "winnow.signals.ensemble",
        "winnow.signals.token_losses",
        "winnow.methods.lpntk.signal",
    ),
    "score": ("winnow.scores",),
    "selector": ("winnow.selectors",),
    "source": ("winnow.sources.own_adapters",),
    "network": ("winnow.models",),
    "engine": ("winnow.engines",),
}
_known: dict[Kind, dict[str, Registration]] = {kind: {} for kind in KINDS}
ONCE, LOOK = Cost(), Cost("look")


def score(
    *,
    needs: Iterable[str],
    paper: str,
    uses: Iterable[str] = (),
    tasks: Iterable[str] = ("classification",),
    cost: Cost = ONCE,
) -> Callable[[F], F]:
    """Register a score: a pure function from Signals to one number per example; higher is harder.

    Parameters
    ----------
    needs
        Names of the arrays of Signals it reads.
    paper
        Who proposed it, for the listing.
    uses
        Names of arrays that it also reads where the signals hold them.
    tasks
        The tasks for which it is defined.
    cost
        How its time and memory grow.
    """
    about: dict[str, Any] = {"needs": frozenset(needs), "paper": paper, "tasks": frozenset(tasks), "cost": cost}
    about["uses"] = frozenset(uses)
    return _registrar(lambda function: Method("score", function.__name__, function, **about))


def selector(
    *,
    needs: Iterable[str],
    paper: str,
    default_score: str | None = None,
    tasks: Iterable[str] = ALL_TASKS,
    by_group: bool = False,
    nested: bool = False,
    rows: Callable[..., Any] | None = None,
    size_from: str | None = None,
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
        The score to use if none is given, for selectors that need one.
    tasks
        The tasks for which it is defined.
    by_group
        Whether its weights represent everything it chose from. With quotas, such a selector is called once for all
        classes, and there is no second pass over the rest.
    nested
        Whether a smaller choice is the beginning of a larger one from the same pool, whatever their sizes; then `prune`
        stores the whole order, and the viewer answers for any fraction at once.
    rows
        The same choice over any number of rows: a function from a `selectors.row_turn.Turn` and the parameters to a
        flag per row and a certificate per group. Without one, the pool has to fit into memory.
    size_from
        The parameter from which it finds the size itself: if that is given and no size is, it is called with None.
    cost
        How its time and memory grow, or a function of its parameters that returns this.
    """
    about: dict[str, Any] = {"needs": frozenset(needs), "paper": paper, "tasks": frozenset(tasks), "cost": cost}
    about |= {"default_score": default_score, "by_group": by_group, "nested": nested}
    about |= {"rows": rows, "size_from": size_from}
    return _registrar(lambda function: Method("selector", function.__name__, function, **about))


def signal(
    *,
    arrays: Mapping[str, tuple[str | int, ...] | ArrayLayout],
    packed: Mapping[str, ArrayLayout] | None = None,
    when: Moment = "trained",
    tasks: Iterable[str] = ("classification", "regression"),
    cost: Cost = LOOK,
    paper: str = "",
    make_up: MakeUp | None = None,
    examples: Iterable[str] = (),
    model: str = "",
) -> Callable[[F], F]:
    """Register a signal: a function from a Look (network, examples, settings) to arrays by name.

    The function sees one training, so its arrays lack a first axis `seeds` or `models`.

    Parameters
    ----------
    arrays
        The arrays it returns and the axes of each, such as `("seeds", "examples", "projection")`; an `ArrayLayout` if
        the numbers are not float32 or not every task has the array. An array with an axis `classes` may be missing
        for regression.
    packed
        Arrays that may be returned instead, smaller, from which `Signals` computes the others.
    when
        `trained`: once, after the training. `epoch`: after the epoch that `gradient_epoch` of observe names.
        `training`: the function is called before the training and returns a `Watcher`. `ensemble`: for each model of a
        subset ensemble. `data`: from the examples alone, without a network or labels.
    tasks
        The tasks for which it is defined.
    cost
        `Cost("once")` for what a training computes anyway, `Cost("look")` for a forward pass per example,
        `Cost("gradient")` for a separate gradient per example.
    paper
        Who proposed it, for the listing.
    make_up
        A function of sizes, labels, hardness and a random generator that makes plausible arrays, including the first
        axis (arrays that the task lacks may be missing); noise of the declared shapes if not given. `winnow.testing`
        checks scores on these arrays: the higher the hardness (0 to 1), the harder the example should look.
    examples
        The kinds of examples for which it is defined, such as `text`; all if not given.
    model
        How the names of the models begin for which it is defined, such as `hf:`; all if not given.
    """
    check_moment(when)
    layouts = {
        name: given if isinstance(given, ArrayLayout) else ArrayLayout(tuple(given)) for name, given in arrays.items()
    }
    about: dict[str, Any] = {"arrays": layouts, "when": when, "tasks": frozenset(tasks), "cost": cost}
    about |= {
        "paper": paper,
        "make_up": make_up,
        "examples": frozenset(examples),
        "model": model,
        "packed": dict(packed or {}),
    }
    for name, layout in {**layouts, **(packed or {})}.items():
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
    """Register an adapter: a function from the argument of `wn.open` and an `OpenRequest` to a Source.

    Adapters of other packages are tried before winnow's own, because they know their format best; within a package, in
    the order of registration. The `origin` of a source names the adapter that opened it.

    Parameters
    ----------
    reads
        What it reads, in a word or two, for error messages.
    endings
        Endings of the paths it opens, in lower case: of files, or of folders that are one format.
    folder
        A function that says, from the content of a folder, whether the adapter opens it.
    value
        A function that says whether the adapter opens an object in memory, or a text that is not a path.
    name
        Name in the listing; the name of the function if not given.
    """
    about: dict[str, Any] = {"reads": reads, "endings": tuple(endings), "folder": folder, "value": value}
    return _registrar(lambda function: Adapter("source", name or function.__name__, function, **about))


def network(*, shape: tuple[int, ...], paper: str = "", text: bool = False) -> Callable[[F], F]:
    """Register a network: a function of the number of outputs, the shape of an example and named options.

    Parameters
    ----------
    shape
        The shape of an example, if none is given.
    paper
        Who proposed it, for the listing.
    text
        Whether it takes the token ids of text, and nothing else.
    """
    about: dict[str, Any] = {"paper": paper, "shape": shape, "text": text}
    tasks = frozenset(("classification", "multilabel", "regression"))
    return _registrar(lambda function: Network("network", function.__name__, function, tasks=tasks, **about))


def engine(*, name: str) -> Callable[[F], F]:
    """Register an engine: a class, or a function without arguments, that returns an object with a method `map`."""
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
    """Return what is registered under a name; an unknown name raises an error with the nearest known one."""
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
    """Return all entries of a kind, sorted by name; sources in the order in which they are tried."""
    known = _filled(kind)
    if kind == "source":
        return sorted(known.values(), key=lambda entry: entry.package == "winnow")
    return [method for _, method in sorted(known.items())]


def codes(*methods: tuple[Kind, str | None]) -> list[str]:
    """Return digests of the code of methods, for the key of a step that uses them; a name may be None."""
    return [get(kind, name).code for kind, name in methods if name is not None]


def layout_of(array: str) -> ArrayLayout:
    """Return the layout of an array of Signals; rooms and plugins are loaded only if it is not known yet."""
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
    """Return the signal that gives an array, for `observe(want=)`; None if no registered signal does.

    One that costs nothing beyond the training comes first, then the one of the same name.
    """
    known = cast(dict[str, Signal], _filled("signal"))
    name = array.removesuffix(AGAIN)
    given = [entry for entry in known.values() if name in entry.arrays]
    return min(given, key=lambda entry: (entry.cost_of({}) != ONCE, entry.name != name), default=None)


def _layouts() -> dict[str, ArrayLayout]:
    return {
        name: layout
        for entry in cast(dict[str, Signal], _known["signal"]).values()
        for name, layout in {**entry.packed, **entry.arrays}.items()
    }


def _registrar(describe: Callable[[Any], Registration]) -> Callable[[F], F]:
    def register(function: F) -> F:
        _add(describe(function))
        return function

    return register


def _add(entry: Registration) -> None:
    """Add an entry; if two have the same name, winnow's own stays, whichever was imported first."""
    known = _known[entry.kind]
    there = known.get(entry.name)
    if there is not None and there.function.__module__ != entry.function.__module__:
        if entry.package != "winnow" or there.package == "winnow":
            raise InputError(f"a {entry.kind} named {entry.name!r} is registered already.")
        warnings.warn(f"{entry.kind} {entry.name!r} of {there.package} is left out: winnow has one", stacklevel=4)
    known[entry.name] = entry


def _filled(kind: Kind) -> dict[str, Registration]:
    """Import the rooms of a kind and all plugins, and return its table; by name, so that core imports no room."""
    for room in _ROOMS[kind]:
        importlib.import_module(room)
    load_plugins(_known)
    return _known[kind]
