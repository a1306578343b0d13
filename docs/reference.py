"""The parts of the docs that code writes, so that they cannot drift from it.

    python docs/reference.py

writes `cli.md` from the command line's own options, `refusals.md` by making every mistake of
`tests/refusals/cases.py`, and the two tables of `methods.md` from the registry. Functions return the text of a
page; `tests/docs/test_reference.py` compares it with what is committed.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

DOCS = Path(__file__).resolve().parent
WORDS = {Path: "PATH", str: "TEXT", int: "INTEGER", float: "NUMBER"}
NOTE = "<!-- Written by docs/reference.py: change the code, then run it again. -->"


def cli_page() -> str:
    """`cli.md`: every command with its arguments, options and examples."""
    import typer

    from winnow.cli import app

    group: Any = typer.main.get_command(app)
    parts = [
        NOTE,
        "# Command line",
        "Look up any command and option; `winnow COMMAND --help` prints the same text. Every command opens its data, "
        "calls one function of the library and prints the result. If stderr is not a terminal, plain lines there say "
        "what is being done, but not with `--json`. Exit codes: 0 done; 2 invalid input, with one line "
        "on stderr that says what is wrong; 130 stopped by Ctrl-C, after which the same command resumes where it "
        "stopped. Any other code is a bug.",
    ]
    for name, command in group.commands.items():
        parts += [f"## winnow {name}", textwrap.dedent(command.help or "").strip()]
        arguments = [item for item in command.params if item.param_type_name == "argument"]
        options = [item for item in command.params if item.param_type_name == "option"]
        words = [item.name.upper() for item in arguments]
        parts.append(f"```text\nwinnow {' '.join([name, *words])}{' [OPTIONS]' if options else ''}\n```")
        if arguments:
            parts.append(_table(["argument", "what it is"], [[f"`{a.name.upper()}`", a.help or ""] for a in arguments]))
        if options:
            kinds = inspect.signature(command.callback, eval_str=True).parameters
            rows = [
                [f"`{_spelled(item, kinds[item.name].annotation)}`", item.help or "", _default(item)]
                for item in options
            ]
            parts.append(_table(["option", "what it does", "default"], rows))
        parts += _examples(command.epilog or "")
    return "\n\n".join(parts) + "\n"


def _spelled(option: Any, kind: Any) -> str:
    """An option as it is typed, with the kind of value it takes, from the type of the command's parameter."""
    names = ", ".join(option.opts)
    if option.is_flag:
        return names
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    several = get_origin(kind) is list or any(get_origin(part) is list for part in get_args(kind))
    word = next(word for type_, word in WORDS.items() if type_ in _parts(kind))
    return f"{names} {word}{' ...' if several else ''}"


def _parts(kind: Any) -> set[Any]:
    """The plain types inside a type: float of float | None, Path of list[Path]."""
    inside = get_args(kind)
    return {kind} if not inside else set().union(*(_parts(part) for part in inside))


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.is_flag or callable(option.default) or option.default in (None, [], ()):
        return ""
    return f"`{option.default}`"


def _examples(epilog: str) -> list[str]:
    """The examples of a command as code; sentences between them stay sentences."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(epilog).strip("\n")):
        line = block.strip()
        if not line or line == "Examples:":
            continue
        if line.startswith("winnow ") and parts and parts[-1].endswith("\n```"):
            parts[-1] = parts[-1].removesuffix("```") + f"{line}\n```"
        elif line.startswith("winnow "):
            parts.append(f"```bash\n{line}\n```")
        else:
            parts.append(line)
    return parts


def refusals_page() -> str:
    """`refusals.md`: each kind of bad input, what was typed, and the line it got, by making the mistake."""
    sys.path.insert(0, str(DOCS.parent))  # the table of mistakes lives with the tests that run it
    from tests.refusals.cases import CASES, answer, names, prepare

    with tempfile.TemporaryDirectory() as place, _inside(Path(place)):
        prepare(Path(place))
        known = names()
        rows = [[what, _code(typed), _cell(_one_line(answer(typed, known), place))] for what, typed in CASES]
    parts = [
        NOTE,
        "# Errors",
        f"Look up an error message: {len(rows)} kinds of invalid input and the sentence that each raises. The sentence "
        "says which parameter, of what, what is allowed and what was given. In Python it is the message of a "
        "`winnow.errors.WinnowError`, which is also the builtin error you would expect (`ValueError`, `LookupError`, "
        "`FileNotFoundError`). On the command line it is one line on stderr with exit code 2, without a traceback. In "
        "the table, `src`, `sig` and `sco` are a small source of 40 examples, its signals and its scores; `other` is a "
        "source of another shape.",
        _table(["what is wrong", "typed", "message"], rows),
    ]
    return "\n\n".join(parts) + "\n"


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a terminal wide enough that no line is broken."""
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = "400"
    try:
        yield
    finally:
        os.chdir(before)
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width


def _one_line(text: str, place: str) -> str:
    """An answer without this run's folder and without the box that the option parser draws."""
    for spelling in sorted({place, str(Path(place).resolve())}, key=len, reverse=True):
        text = text.replace(f"{spelling}/", "").replace(spelling, ".")
    return " ".join(re.sub(r"[╭╮╰╯│─]+( Error )?", " ", text).split())


def methods_page() -> str:
    """`methods.md` with its two tables filled in anew; the prose around them is written by hand."""
    text = (DOCS / "methods.md").read_text()
    for kind in ("score", "selector"):
        text = filled(text, f"{kind}s", methods_table(kind))
    return text


def filled(text: str, name: str, content: str) -> str:
    """A page with what stands between its `begin` and `end` marks of that name replaced."""
    begin, end = f"<!-- begin {name}: written by docs/reference.py -->", f"<!-- end {name} -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no marks {begin!r} and {end!r}")
    return f"{head}{begin}\n\n{content}\n\n{end}{tail}"


def methods_table(kind: str) -> str:
    """A table of all registered scores, or selectors."""
    from winnow.core import registry

    rows = []
    for method in registry.listing(kind):  # type: ignore[arg-type]
        own = {name: value for name, value in method.parameters.items() if name != "seed" or kind == "score"}
        given = ", ".join(f"`{name}={value!r}`" for name, value in own.items()) or "-"
        needs = ", ".join(f"`{name}`" for name in sorted(method.needs)) or "-"
        tasks = ", ".join(sorted(method.tasks)) if set(method.tasks) < set(registry.ALL_TASKS) else "all"
        row = [f"`{method.name}`", _cell(method.summary), needs, tasks, given, method.paper]
        if kind == "selector":
            row.insert(3, f"`{method.default_score}`" if method.default_score else "-")
        rows.append(row)
    usual = ["usual score"] if kind == "selector" else []
    return _table([kind, "what it is", "needs", *usual, "tasks", "parameters", "paper"], rows)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join(lines + [f"| {' | '.join(_piped(cell) for cell in row)} |" for row in rows])


def _piped(cell: str) -> str:
    """Text that stays inside its cell."""
    return cell.replace("\n", " ").replace("|", "\\|")


def _cell(text: str) -> str:
    """Text as it is: nothing in it is taken for Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]#])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def _code(text: str) -> str:
    return f"`{text}`"


PAGES: dict[str, Callable[[], str]] = {"cli.md": cli_page, "methods.md": methods_page, "refusals.md": refusals_page}


def main() -> None:
    """Write every page whose text has changed."""
    for name, make in PAGES.items():
        text, path = make(), DOCS / name
        changed = not path.exists() or path.read_text() != text
        if changed:
            path.write_text(text)
        print(f"{name}: {'written' if changed else 'as it was'}")


if __name__ == "__main__":
    main()
