"""The small faults that `mutants.py` plants: which there are, and a module's source with one of them."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutation", "mutations_of"]

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
REPLACED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
EXCHANGED = {"min": "max", "any": "all", "floor": "ceil", "argmin": "argmax", "minimum": "maximum", "mean": "sum"}
EXCHANGED |= {new: old for old, new in EXCHANGED.items() if old != "mean"}
DROPPED = {"sqrt", "abs", "sorted", "sort", "log", "exp", "ceil", "round", "square"}  # calls that become their argument


@dataclass(frozen=True)
class Mutation:
    """One fault: the lines it is in, whether they run at import, what became what, and the whole module with it."""

    lines: tuple[int, ...]
    at_import: bool
    change: str
    source: str


def mutations_of(source: str) -> list[Mutation]:
    """Every fault that can be planted in a module, one at a time."""
    tree = ast.parse(source)
    quiet, inside, heads = _untouched(tree), _in_functions(tree), _heads(tree)
    found = []
    seen: Counter[str] = Counter()
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in quiet:
            continue
        for new in _variants(node):
            first = int(getattr(node, "lineno", 1))
            lines = tuple(range(first, int(getattr(node, "end_lineno", first) or first) + 1))
            said = "(removed)" if isinstance(new, ast.Pass) else ast.unparse(new)
            old = heads[id(node)] if isinstance(node, ast.stmt) else ast.unparse(node)
            if isinstance(new, ast.If):
                said = "its opposite"
            change = f"{old} -> {said}" + ("" if isinstance(node, ast.stmt) else f" in {heads[id(node)]}")
            seen[change] += 1
            if seen[change] > 1:
                change += f" ({seen[change]})"
            found.append(Mutation(lines, id(node) not in inside, change, _with(tree, index, new)))
    return sorted(found, key=lambda mutation: (mutation.lines, mutation.change))


def _heads(tree: ast.Module) -> dict[int, str]:
    """The first line of the statement that a node is in; ast.walk meets the inner statements later."""
    found: dict[int, str] = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            head = ast.unparse(statement).splitlines()[0]
            found |= {id(node): head for node in ast.walk(statement)}
    return found


def _with(tree: ast.Module, index: int, new: ast.AST) -> str:
    """The module with one node exchanged."""
    changed = copy.deepcopy(tree)
    target = next(node for place, node in enumerate(ast.walk(changed)) if place == index)

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is target else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Exchange().visit(changed))) + "\n"


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may become."""
    match node:
        case ast.Compare(ops=[operator]):
            for kind in COMPARED.get(type(operator), ()):
                yield _changed(node, ops=[kind()])
        case ast.BinOp(op=operator) if type(operator) in REPLACED:
            yield _changed(node, op=REPLACED[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _changed(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, (ast.Compare, ast.UnaryOp)):
            yield _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) | ast.Call(func=ast.Attribute(attr=name), args=[first]):
            if name in EXCHANGED:
                yield _changed(node, func=_renamed(node.func, EXCHANGED[name]))
            if name in DROPPED:
                yield first
        case ast.Call(func=ast.Attribute(attr=name)) if name in EXCHANGED:
            yield _changed(node, func=_renamed(node.func, EXCHANGED[name]))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    """A copy with some fields exchanged."""
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _renamed(function: ast.expr, name: str) -> ast.AST:
    return ast.Name(name, ast.Load()) if isinstance(function, ast.Name) else _changed(function, attr=name)


def _untouched(tree: ast.Module) -> set[int]:
    """Nodes that are left alone: annotations, imports, decorators, `__all__`, and the words of an error."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            roots += [node.returns, *node.decorator_list, *(one.annotation for one in given if one is not None)]
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
        elif isinstance(node, ast.ClassDef):
            roots += [*node.decorator_list, *node.bases]
        elif isinstance(node, ast.Raise):
            roots += [node.exc, node.cause]
        elif ast.unparse(node).startswith(("__all__ =", "if TYPE_CHECKING:", "Array =", "Table =")):
            roots.append(node)
    return {id(node) for root in roots if root is not None for node in ast.walk(root)}


def _in_functions(tree: ast.Module) -> set[int]:
    """Nodes inside a function, but for the defaults of its parameters: what does not run at import."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            found |= {id(part) for statement in body for part in ast.walk(statement)}
    return found
