"""Engines by name: what `engine=` of a verb and `--engine` of a command may be."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, cast

from ..core import checks, registry
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.request import Parameter, whole
from .jobs import Engine
from .local import Local

__all__ = ["Where", "describe", "engine_of", "named_engine"]


def engine_of(owner: str, engine: Any) -> Engine:
    """Return the engine, or the registered one of that name; this machine if None is given.

    Parameters
    ----------
    owner
        The calling function, named in errors.
    engine
        An engine, the name of a registered one, an address such as `ray://host:10001`, or None.

    Returns
    -------
    Engine
        The engine.

    Raises
    ------
    InputError
        If `engine` has no `map` method of the second contract.
    UnknownNameError
        If no engine has that name.

    Examples
    --------
    >>> engine_of("observe", None) == engine_of("observe", "local")
    True
    """
    return Local() if engine is None else _engine("engine", owner, engine)


def named_engine(
    engine: Annotated[
        str | None, Parameter("Where work runs: local, ray, ray://HOST:PORT, or later for winnow do.")
    ] = None,
    workers: Annotated[int | None, whole("Number of worker processes; all cores if not given.", low=1)] = None,
) -> Engine | None:
    """The engine that the command line names; None if it says nothing."""
    if engine is None and workers is None:
        return None
    return _made("engine", "Local", engine or "local", workers)


def describe(engine: Any) -> dict[str, Any]:
    """The part of an engine that belongs in provenance: the threads, not the workers."""
    return {"threads": getattr(engine, "threads", 1)}


def _engines() -> dict[str, Any]:
    return {entry.name: entry for entry in registry.listing("engine")}


def _made(name: str, owner: str, word: str, workers: int | None = None) -> Engine:
    """Make an engine from its name or its address, whose scheme is its name."""
    known, scheme = _engines(), word.partition("://")[0]
    made = known[checks.choice(name, owner, scheme if "://" in word else word, known)].function
    options: dict[str, Any] = {} if workers is None else {"workers": workers}
    options |= {"address": word} if "://" in word else {}
    for option in options:
        if option not in inspect.signature(made).parameters:
            raise InputError(f"engine {scheme} takes no {option}; got {options[option]!r}.")
    return cast(Engine, made(**options))


def _engine(name: str, owner: str, engine: Any) -> Engine:
    if isinstance(engine, str):
        return _made(name, owner, engine)
    call = getattr(engine, "map", None)
    if not callable(call):
        raise InputError(f"{of(name, owner)} must be an engine, such as Local(workers=2); got {type(engine).__name__}.")
    if not {"shared", "needs"} <= inspect.signature(call).parameters.keys():
        raise InputError(
            f"{of(name, owner)} must be an engine whose map takes shared= and needs= (winnow.engines.Engine); the map "
            f"of {type(engine).__name__} does not."
        )
    return cast(Engine, engine)


Where = Annotated[
    Engine | str | None,
    Parameter("Where work runs.", _engine, plain=describe, group=named_engine, owner="Local", usual=Local),
]
