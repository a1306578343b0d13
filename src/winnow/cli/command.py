"""A command made from a verb: its options are the parameters that the verb's signature declares.

    @command("pruning.proof:prune_with_proof", EXAMPLES)
    def prune(call: Call, as_json: o.Json = False) -> None:
        proof = call()

The function gets the call that the options describe, and prints the result. Its own parameters are options too: in
addition to the options of the verb, or in place of them. The verb is imported when the options of a command are needed,
so that `winnow --help` loads nothing heavy.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.parameter_names import called
from ..core.request import Declared, declared, further
from . import options as o

__all__ = ["Call", "Group", "PlainCommand", "command"]

Handler = Callable[..., None]


@dataclass(frozen=True)
class Call:
    """The call of a verb that the options describe."""

    verb: Callable[..., Any]
    what: str | None
    opening: Mapping[str, Any]
    keywords: Mapping[str, Any]
    spelled: Mapping[str, str] = field(default_factory=dict)  # the options that open data

    def __call__(self, *positional: Any, **more: Any) -> Any:
        """Call the verb, with further arguments that are not options."""
        data = () if self.what is None else (self.what,)
        return self.verb(*data, *positional, **{**self.keywords, **self.opening, **more})

    def data_words(self) -> list[str]:
        """Return the data and the options that open it, as words of a command line."""
        listed = ((name, value if isinstance(value, list) else [value]) for name, value in self.opening.items())
        pairs = ((self.spelled[name], str(one)) for name, values in listed for one in values)
        return [str(self.what), *(word for pair in pairs for word in pair)]


@dataclass(frozen=True)
class Option:
    """One option of a command and the parameter it stands for."""

    key: str  # unique in the command
    owner: str
    declared: Declared
    group: str = ""  # the parameter of the verb that it helps to make, if it is not a parameter itself
    spare: bool = False  # whether the data may be left out

    @property
    def spelled(self) -> str:
        note = self.declared.parameter
        return "--" + ((note and note.option) or self.declared.name).replace("_", "-")

    def parameter(self) -> inspect.Parameter:
        """Return the option as a parameter for typer."""
        note = self.declared.parameter
        assert note is not None
        if note.opens:
            info = typer.Argument(help=note.help)
            return _parameter(self.key, str | None, info, None) if self.spare else _parameter(self.key, str, info)
        kind = note.kind or self.declared.annotation
        several = get_origin(kind) is list or any(get_origin(part) is list for part in get_args(kind))
        default = None if several else self.declared.default
        panel = f"{self.group.capitalize()} options" if self.group else None
        info = typer.Option(self.spelled, help=note.help, rich_help_panel=panel)
        return _parameter(self.key, kind | None if several else kind, info, default)


class Options:
    """All options of a verb, and the call that their values describe."""

    def __init__(
        self, verb: Callable[..., Any], owner: str, own: Mapping[str, inspect.Parameter], spare: bool = False
    ) -> None:
        self.verb, self.owner, self.own, self.spare = verb, owner, own, spare
        self.found = list(self._found())

    def _found(self) -> Iterator[Option]:
        for name, one in declared(self.verb).items():
            note = one.parameter
            if note is None or note.option is None or name in self.own:
                continue
            if note.opens or note.group is None:
                yield Option("data" if note.opens else name, self.owner, one, spare=self.spare)
            if note.beside is not None:
                for inner, part in declared(note.beside).items():
                    if part.parameter is not None:
                        yield Option(f"{name}_{inner}", self.owner, part, name)
            if note.group is not None:
                mine = declared(self.verb)
                for inner, part in declared(note.group).items():
                    if part.parameter is not None and not (note.opens and inner in mine):
                        yield Option(f"{name}_{inner}", note.owner, part, name)

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of the command: data, its own, those of the verb, --set and --json."""
        order = [name for name, one in declared(self.verb).items() if not (one.parameter and one.parameter.opens)]
        place = {option.key: option.group or option.declared.name for option in self.found}
        rest = [option.parameter() for option in self.found if option.key != "data"]
        rest += [one for name, one in self.own.items() if name in order and _typed(one).startswith("--")]
        word = {name: number for number, name in enumerate(order)}
        rest.sort(key=lambda one: word.get(place.get(one.name, one.name), len(order)))
        every = list(declared(self.verb))
        data = [option for option in self.found if option.key == "data"]
        until = every.index(data[0].declared.name) if data else 0
        words = {name: one for name, one in self.own.items() if one not in rest and name != "as_json"}
        first = [one for name, one in words.items() if name in every[:until]]  # arguments that the verb has before data
        first += [option.parameter() for option in data]
        first += [one for name, one in words.items() if name not in every[:until]]
        last = [_parameter("set_", *_split(o.Set), None)] if further(self.verb) == "parameters" else []
        return [*first, *rest, *last, *(one for name, one in self.own.items() if name == "as_json")]

    def names(self, values: Mapping[str, Any]) -> dict[tuple[str, str], str]:
        """Return the names of the options, for messages about their parameters."""
        owners = [word.format(**values) for word in self.owner.split("|")]
        found = {(owner, name): _typed(one) for name, one in self.own.items() for owner in owners}
        for option in self.found:
            spelled = "DATA" if option.key == "data" else option.spelled
            found |= {(who, option.declared.name): spelled for who in ([option.owner] if option.group else owners)}
        return found

    def call(self, values: Mapping[str, Any]) -> Call:
        """Return the call that the values of the options describe."""
        given: dict[str, dict[str, Any]] = {}
        keywords: dict[str, Any] = {}
        spelled: dict[str, str] = {}
        for option in self.found:
            value, note, name = values.get(option.key), option.declared.parameter, option.declared.name
            if value is None or note is None or note.opens:
                continue
            value = value if note.read is None else note.read(value)
            (given.setdefault(option.group, {}) if option.group else keywords)[name] = value
            spelled |= {name: option.spelled} if option.group else {}
        opening: dict[str, Any] = {}
        for name, one in declared(self.verb).items():
            note = one.parameter
            parts = given.get(name, {})
            if note is not None and note.beside is not None and name in keywords:
                keywords[name] = note.beside(keywords[name], **parts)
            if note is None or note.group is None or name in self.own:
                continue
            if note.opens:
                usual = declared(note.group)
                opening = {key: value for key, value in parts.items() if value != usual[key].default}
            else:
                keywords[name] = note.group(**parts)
        taken = {option.declared.name: option.spelled for option in self.found}
        taken |= {name: f"--{name}" for name in (*self.own, *declared(self.verb)) if name not in taken}
        keywords |= o.parameters(values.get("set_"), taken)
        return Call(self.verb, values.get("data"), opening, keywords, spelled)


class _Flags:
    """Show flags without a value type, because they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, including the help option."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class Group(_Flags, TyperGroup):
    """The group of all commands."""


class PlainCommand(_Flags, TyperCommand):
    """A command whose options do not come from a verb."""


class VerbCommand(PlainCommand):
    """A command whose options are read from the verb when they are first needed."""

    def __init__(self, *args: Any, handler: Handler, home: str, owner: str, spare: bool, **kwargs: Any) -> None:
        self._handler, self._home, self._owner, self._spare = handler, home, owner, spare
        self._params: list[Any] | None = None
        super().__init__(*args, **kwargs)

    @property
    def params(self) -> list[Any]:
        """The options and arguments."""
        if self._params is None:
            module, _, name = self._home.partition(":")
            verb = getattr(importlib.import_module(f"..{module}", __package__), name)
            made = typer.Typer(add_completion=False)
            made.command()(_function(self._handler, verb, self._owner, self._spare))
            built: Any = typer.main.get_command(made)
            self._params, self.callback = built.params, built.callback
        return self._params

    @params.setter
    def params(self, value: list[Any]) -> None:
        """Do nothing: the options come from the verb."""


def command(
    home: str, examples: str, *, owner: str | None = None, spare_data: bool = False
) -> Callable[[Handler], Callable[[typer.Typer], None]]:
    """Make a command from a verb; returns a function that adds it to an app.

    Parameters
    ----------
    home
        The verb, as `module:function` below winnow.
    examples
        Text to show after the options.
    owner
        Name of the verb in messages of the library; the name of the command if not given. May hold several names,
        separated by `|`, and arguments of the command in braces.
    spare_data
        Whether the data may be left out; the handler then says what to do.
    """

    def register(handler: Handler) -> Callable[[typer.Typer], None]:
        def add(app: typer.Typer) -> None:
            name = handler.__name__

            def made(*args: Any, **kwargs: Any) -> VerbCommand:
                return VerbCommand(*args, handler=handler, home=home, owner=owner or name, spare=spare_data, **kwargs)

            def nothing() -> None: ...

            kind: Any = made
            app.command(name, cls=kind, epilog=examples, help=inspect.getdoc(handler))(nothing)

        return add

    return register


def _function(handler: Handler, verb: Callable[..., Any], owner: str, spare: bool) -> Callable[..., None]:
    """Return the function that typer calls, with the right parameters."""
    _, *more = inspect.signature(handler, eval_str=True).parameters.values()
    own = {one.name: one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in more}
    found = Options(verb, owner, own, spare)

    def run(**values: Any) -> None:
        with called(found.names(values)):
            handler(found.call(values), **{name: values[name] for name in own})

    run.__signature__ = inspect.Signature(found.parameters())  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _typed(one: inspect.Parameter) -> str:
    """Return the name of one of the command's own options or arguments, as typed."""
    argument = any(isinstance(note, typer.models.ArgumentInfo) for note in get_args(one.annotation))
    return one.name.upper() if argument else f"--{one.name.replace('_', '-')}"


def _parameter(name: str, kind: Any, info: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def _split(annotation: Any) -> tuple[Any, Any]:
    kind, info = get_args(annotation)
    return kind, info
