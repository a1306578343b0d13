"""Method names as users write them: a score, a selector, or `score+selector`, each with parameters in brackets.

`el2n` keeps the hardest by that score, `strata` runs that selector on its default score, `aum+strata` names both, and
`el2n(epoch=3)+strata(drop=0.1)` sets parameters of both. If a name is both a score and a selector (`random`), it means
the selector.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core import registry
from ..core.errors import InputError, UnknownNameError

__all__ = ["MethodParts", "method_names", "needs_of", "parse_method", "with_parameters"]

EXAMPLE = "el2n(epoch=3)+strata(drop=0.1)"
_HALF = re.compile(r"\s*([^\s()+,=]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


class MethodParts(NamedTuple):
    """A parsed method name: score (None if the selector reads none), selector, and the parameters of both."""

    score: str | None
    selector: str
    parameters: Mapping[str, Any]
    score_parameters: Mapping[str, Any] = {}  # a NamedTuple's default; never written to

    @property
    def methods(self) -> dict[str, registry.Method]:
        """The registered score, if there is one, and selector, by kind."""
        found = {} if self.score is None else {"score": registry.get("score", self.score)}
        return {**found, "selector": registry.get("selector", self.selector)}

    @property
    def needs(self) -> frozenset[str]:
        """Arrays of Signals that both need, for `observe(want=...)`."""
        return frozenset().union(*(method.needs for method in self.methods.values())) - {"scores"}

    def stated(self) -> dict[str, Any]:
        """For a certificate: the parameters of both halves that were given, if any."""
        usual = {"policy": "hard"} if self.selector == "rank" else {}
        given = {"score": dict(self.score_parameters), "selector": dict(self.parameters)}
        return {"parameters": given} if self.score_parameters or self.parameters != usual else {}


def parse_method(name: str) -> MethodParts:
    """Return the score (None if the selector uses none), selector and parameters of a method name.

    Parameters
    ----------
    name
        A score, a selector, or both joined by `+`; parameters in brackets behind each.

    >>> parse_method("aum+strata").selector
    'strata'
    >>> parse_method("el2n(epoch=3)+strata(drop=0.1)").score_parameters
    {'epoch': 3}
    """
    scores, selectors = _by_name("score"), _by_name("selector")
    if not isinstance(name, str):
        raise UnknownNameError.of("method", name, {*scores, *selectors})
    written = _split(name)
    if len(written) == 1:
        first, given = _half(written[0], name)
        if first in selectors:
            _check_selector(selectors[first], given)
            return MethodParts(selectors[first].default_score, first, given)
        if first in scores:
            scores[first].check_parameters(given)
            return MethodParts(first, "rank", {"policy": "hard"}, given)
        raise UnknownNameError.of("method", first if given else name, {*scores, *selectors})
    if len(written) > 2:
        raise _malformed(name)
    (first, of_score), (second, of_selector) = (_half(part, name) for part in written)
    if first not in scores:
        raise UnknownNameError.of(f"score in method {name!r}:", first, scores)
    if second not in selectors:
        raise UnknownNameError.of(f"selector in method {name!r}:", second, selectors)
    if "scores" not in selectors[second].needs:
        raise InputError(f"method {name!r} joins a score to selector {second!r}, which uses none; pass {second!r}.")
    scores[first].check_parameters(of_score)
    _check_selector(selectors[second], of_selector)
    return MethodParts(first, second, {**({"policy": "hard"} if second == "rank" else {}), **of_selector}, of_score)


def with_parameters(parts: MethodParts, given: Mapping[str, Any]) -> MethodParts:
    """The same method with these parameters too, each at the half that has it."""
    halves: dict[str, dict[str, Any]] = {"score": {}, "selector": {}}
    methods = parts.methods
    for name, value in given.items():
        owners = [kind for kind, method in methods.items() if name in method.parameters]
        if len(owners) > 1:
            both = " and ".join(f"{kind} {methods[kind].name!r}" for kind in owners)
            raise InputError(f"parameter {name!r} belongs to both {both}; say which in the method, as in {EXAMPLE!r}.")
        if not owners:
            known = {word for method in methods.values() for word in method.parameters}
            of = " and ".join(f"{kind} {method.name!r}" for kind, method in methods.items())
            raise UnknownNameError.of(f"parameter of {of}:", name, known)
        halves[owners[0]][name] = value
    return parts._replace(
        parameters={**parts.parameters, **halves["selector"]},
        score_parameters={**parts.score_parameters, **halves["score"]},
    )


def needs_of(name: str) -> frozenset[str]:
    """Arrays of Signals that a method needs, for `observe(want=...)`."""
    return parse_method(name).needs


def method_names() -> list[str]:
    """Return every single name that `parse_method` knows."""
    return sorted({*_by_name("score"), *_by_name("selector")})


def _check_selector(selector: registry.Method, given: Mapping[str, Any]) -> None:
    selector.check_parameters(given)
    if "seed" in given:
        raise InputError(f"seed of selector {selector.name!r} is that of the whole selection: give it as seed=.")


def _split(name: str) -> list[str]:
    """The halves of a method: parted by a plus that stands outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in name:
        if quote or letter in "'\"":
            quote = "" if letter == quote else quote or letter
        depth += 0 if quote else (letter in "([{") - (letter in ")]}")
        if letter == "+" and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _half(text: str, whole: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of one half; values are Python literals or bare words."""
    found = _HALF.fullmatch(text)
    if found is None:
        raise _malformed(whole)
    name, inside = found.groups()
    try:
        call = ast.parse(f"f({inside or ''})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _malformed(whole) from None
    if not isinstance(call, ast.Call) or call.args:
        raise _malformed(whole)
    parameters: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _malformed(whole)
        parameters[keyword.arg] = _value(keyword.value, whole)
    return name, parameters


def _value(node: ast.expr, whole: str) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        raise _malformed(whole) from None


def _malformed(name: str) -> InputError:
    return InputError(f"method {name!r} cannot be read; write parameters by name in brackets, as in {EXAMPLE!r}.")


def _by_name(kind: Any) -> dict[str, registry.Method]:
    return {method.name: method for method in registry.listing(kind)}
