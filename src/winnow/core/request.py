"""One frozen request per verb, made from the signature of the verb.

    def prune(source: Data, keep: Keep = None, *, seed: Seed = 0, **more: Any) -> Subset:
        asked = request(prune, locals())

The signature is the declaration. The annotation of a parameter holds a `Parameter`: which values are allowed, one line
of help, how a value is read from the command line and how it is stored. From it follow the checks (`request`), the
settings of the run and the provenance (`VerbRequest.settings`), and the options of the command line
(`winnow.cli.command`). A group of parameters that several verbs share is one annotation with a function or class behind
it: the data and `wn.open`, the recipe and `Recipe`, the engine and `--workers`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from . import checks, parameter_names
from .errors import InputError, UnknownNameError
from .run import Run
from .seeds import several

__all__ = [
    "Declared",
    "Observations",
    "Parameter",
    "Retrainings",
    "RunDirectory",
    "Seed",
    "VerbRequest",
    "choice",
    "declared",
    "flag",
    "number",
    "request",
    "requested",
    "whole",
]

Check = Callable[[str, str, Any], Any]


def _as_it_is(name: str, owner: str, value: Any) -> Any:
    return value


def _plainly(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Parameter:
    """What an annotation says about a parameter.

    Parameters
    ----------
    help
        One line, for the command line.
    check
        Takes name, owner and value; returns the valid value or raises. A None that the annotation allows is not
        checked.
    plain
        How a value is stored in settings and provenance; None leaves it out.
    option
        Name of its option, if it differs from the name of the parameter; None if there is no option.
    kind
        The type that the command line reads, if it differs from the annotation.
    read
        Turns what the command line read into what the verb takes.
    group
        A function or class that makes the value from several options; its parameters are declared in the same way.
    beside
        A function that makes the final value from this one and further options; its other parameters are declared in
        the same way.
    owner
        Name of the group in messages.
    usual
        Makes the value if none is given.
    opens
        Whether the value is data that `check` opens, with the remaining keywords of the verb.
    """

    help: str = ""
    check: Callable[..., Any] = _as_it_is
    plain: Callable[[Any], Any] | None = _plainly
    option: str | None = ""
    kind: Any = None
    read: Callable[[Any], Any] | None = None
    group: Callable[..., Any] | None = None
    beside: Callable[..., Any] | None = None
    owner: str = ""
    usual: Callable[[], Any] | None = None
    opens: bool = False


def number(help: str, *, option: str | None = "", **bounds: Any) -> Parameter:
    """Declare a number; the bounds are those of `checks.number`."""
    return Parameter(help, lambda name, owner, value: checks.number(name, owner, value, **bounds), option=option)


def whole(help: str, *, option: str | None = "", **bounds: Any) -> Parameter:
    """Declare a whole number; the bounds are those of `checks.integer`."""
    return Parameter(help, lambda name, owner, value: checks.integer(name, owner, value, **bounds), option=option)


def choice(help: str, words: Iterable[str], *, option: str | None = "") -> Parameter:
    """Declare one of a few words, which the help lists."""
    known = tuple(words)
    listed = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
    return Parameter(
        f"{help}: {listed}.", lambda name, owner, value: checks.choice(name, owner, value, known), option=option
    )


def flag(help: str) -> Parameter:
    """Declare True or False."""

    def check(name: str, owner: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputError(f"{parameter_names.of(name, owner)} must be True or False; got {value!r}.")
        return value

    return Parameter(help, check)


def _directory(name: str, owner: str, value: Any) -> Any:
    if not isinstance(value, Run | str | Path):
        raise InputError(f"{parameter_names.of(name, owner)} must be a directory; got {value!r}.")
    return value


def _several(name: str, owner: str, value: Any) -> Any:
    several(owner, value)
    return value


Observations = Annotated[int | Sequence[int], Parameter("Number of trainings to observe.", _several, kind=int)]
Retrainings = Annotated[int | Sequence[int], Parameter("Number of retrainings per arm.", _several, kind=int)]
Seed = Annotated[int, whole("Random seed.", low=0)]
RunDirectory = Annotated[
    Run | str | Path | None,
    Parameter("Run directory; the same command resumes there.", _directory, plain=None, kind=Path | None),
]


@dataclass(frozen=True)
class Declared:
    """A parameter of a verb, as declared in its signature."""

    name: str
    default: Any
    parameter: Parameter | None
    annotation: Any

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty

    def checked(self, owner: str, value: Any, **opening: Any) -> Any:
        """Return the valid value, or raise."""
        if self.parameter is None:
            return value
        if value is None and (self.default is None or type(None) in get_args(self.annotation)):
            return None if self.parameter.usual is None else self.parameter.usual()
        return self.parameter.check(self.name, owner, value, **opening)


@cache
def declared(verb: Callable[..., Any]) -> dict[str, Declared]:
    """Return the parameters of a function or class by name, without `**more`."""
    hints = get_type_hints(verb, include_extras=True)
    found = {}
    for name, given in inspect.signature(verb).parameters.items():
        if given.kind is not inspect.Parameter.VAR_KEYWORD:
            bare, *notes = get_args(hint) if get_origin(hint := hints.get(name, Any)) is Annotated else (hint,)
            note = next((item for item in notes if isinstance(item, Parameter)), None)
            found[name] = Declared(name, given.default, note, bare)
    return found


def further(verb: Callable[..., Any]) -> str | None:
    """Return the name of the verb's `**keywords`, if it has any."""
    kinds = inspect.signature(verb).parameters.items()
    return next((name for name, given in kinds if given.kind is inspect.Parameter.VAR_KEYWORD), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class VerbRequest:
    """The arguments of a verb: checked and frozen, each parameter an attribute.

    Parameters
    ----------
    verb
        Name of the verb.
    what
        The data as given, before opening.
    opening
        Keywords that opened the data.
    parameters
        The remaining keywords: parameters of a method.
    """

    verb: str
    what: Any = None
    opening: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:  # for type checkers: each verb has other fields
        raise AttributeError(f"a request of {self.verb} has no parameter {name!r}")

    def settings(self) -> dict[str, Any]:
        """Return plain values of everything that decides the result, for the run directory and provenance."""
        found: dict[str, Any] = {}
        for item in dataclasses.fields(self):
            note = item.metadata.get("parameter")
            if note is not None and note.plain is not None:
                value = getattr(self, item.name)
                found[item.name] = None if value is None else note.plain(value)
        return {**found, "parameters": dict(self.parameters)} if self.parameters else found


@cache
def _kind(verb: Callable[..., Any]) -> type[VerbRequest]:
    """Return the request class of a verb: one frozen field per parameter."""
    fields: list[tuple[str, Any, Any]] = [
        (name, one.annotation, field(metadata={"parameter": one.parameter})) for name, one in declared(verb).items()
    ]
    word = "".join(part.title() for part in verb.__name__.split("_"))
    made = dataclasses.make_dataclass(
        f"{word}Request", fields, bases=(VerbRequest,), frozen=True, kw_only=True, eq=False
    )
    made.__module__ = verb.__module__
    return made


def request(verb: Callable[..., Any], arguments: Mapping[str, Any], owner: str | None = None) -> VerbRequest:
    """Check the arguments of a verb by its signature, open its data, and freeze them.

    Parameters
    ----------
    verb
        The function.
    arguments
        Its arguments by name: `locals()` in its first line.
    owner
        Name of the verb in messages; the name of the function if not given.
    """
    word = owner or verb.__name__
    rest = further(verb)
    more = dict(arguments[rest]) if rest is not None else {}
    values: dict[str, Any] = {}
    about: dict[str, Any] = {"verb": word}
    for name, one in declared(verb).items():
        opening: dict[str, Any] = {}
        if one.parameter is not None and one.parameter.opens:
            group = declared(one.parameter.group) if one.parameter.group is not None else {}
            opening = {key: more.pop(key) for key in list(more) if key in group}
            about |= {"what": arguments[name], "opening": opening}
        values[name] = one.checked(word, arguments[name], **opening)
    if more and rest != "parameters":
        raise UnknownNameError.of(f"parameter of {word}", next(iter(more)), declared(verb))
    return _kind(verb)(**values, **about, parameters=more)


def requested(verb: Callable[..., Any], *given: Any, **named: Any) -> VerbRequest:
    """Return the request that a call of the verb would make."""
    bound = inspect.signature(verb).bind(*given, **named)
    bound.apply_defaults()
    return request(verb, {**{name: {} for name in [further(verb)] if name}, **bound.arguments})
