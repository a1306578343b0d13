"""The package as its files say: modules, rooms, code lines, classes and imports, read by `ast` and never run.

Works on any checkout, since it looks at nothing but the tree. A room is a top-level package or a top-level module of
the package; the package's own `__init__` is its door and, like a private module beside it, belongs to no room.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Import", "Module", "Package", "read_package"]

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Import:
    """One imported name of the package: which module imports which, and in which line."""

    importer: str
    imported: str
    line: int


@dataclass(frozen=True)
class Module:
    """A file of the package.

    Parameters
    ----------
    name
        Dotted, without the package itself; empty for the package's own `__init__`.
    path
        The file.
    package
        Whether the file is an `__init__`.
    text
        What it holds.
    """

    name: str
    path: Path
    package: bool
    text: str

    @property
    def room(self) -> str:
        """The first part of the name; empty for the door."""
        return self.name.partition(".")[0]

    @property
    def last_name(self) -> str:
        """The last part of the name, by which people call it."""
        return self.name.rpartition(".")[2]

    @property
    def lines(self) -> int:
        """All lines of the file."""
        return len(self.text.splitlines())

    @cached_property
    def syntax(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text)

    @property
    def code_lines(self) -> int:
        """Lines that hold code: not blank, not a comment, not part of a docstring."""
        held: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in LAYOUT:
                held.update(range(token.start[0], token.end[0] + 1))
        return len(held - self._docstring_lines())

    def _docstring_lines(self) -> set[int]:
        found: set[int] = set()
        for node in ast.walk(self.syntax):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
                first = node.body[0]
                if (
                    isinstance(first, ast.Expr)
                    and isinstance(first.value, ast.Constant)
                    and isinstance(first.value.value, str)
                ):
                    found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
        return found

    @property
    def public_classes(self) -> list[str]:
        """Classes that are defined at the top of the module and do not start with an underscore."""
        nodes = [node for node in self.syntax.body if isinstance(node, ast.ClassDef)]
        return [node.name for node in nodes if not node.name.startswith("_")]

    @property
    def registers(self) -> bool:
        """Whether the module puts something of its own into the registry with a decorator."""
        known = {
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(self.syntax)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if "registry" in f"{node.module}.{alias.name}".split(".")
        }
        return any(
            isinstance(name, ast.Name) and name.id in known
            for node in self.syntax.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            for decorator in node.decorator_list
            for name in ast.walk(decorator)
        )

    def imported_names(self, root: str) -> Iterator[tuple[str, int]]:
        """Each imported name in full, at any depth of the file, with its line."""
        inside = [root, *(self.name.split(".") if self.name else [])]
        package = inside if self.package else inside[:-1]
        for node in ast.walk(self.syntax):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                stem = [*base, *([node.module] if node.module else [])]
                yield from ((".".join([*stem, alias.name]), node.lineno) for alias in node.names)


@dataclass(frozen=True)
class Package:
    """All modules of a package, by name."""

    name: str
    modules: dict[str, Module]

    @cached_property
    def rooms(self) -> list[str]:
        """The rooms, by name."""
        rooms = {module.room for module in self.modules.values()}
        return sorted(room for room in rooms if room and not room.startswith("_"))

    @cached_property
    def imports(self) -> list[Import]:
        """Who imports whom inside the package, one entry per name that is imported.

        `from .room import thing` is an import of `room.thing` if that is a module, otherwise of `room`.
        """
        found = []
        for module in self.modules.values():
            for name, line in module.imported_names(self.name):
                first, _, rest = name.partition(".")
                if first != self.name:
                    continue
                while rest not in self.modules:
                    rest = rest.rpartition(".")[0]
                if rest != module.name:
                    found.append(Import(module.name, rest, line))
        return found

    def importers(self, name: str) -> set[str]:
        """The modules that import this one."""
        return {each.importer for each in self.imports if each.imported == name}


def read_package(folder: Path) -> Package:
    """Read a package's folder, such as `src/winnow`."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = list(path.relative_to(folder).with_suffix("").parts)
        package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if package else parts)
        modules[name] = Module(name, path, package, path.read_text(encoding="utf-8"))
    return Package(folder.name, modules)
