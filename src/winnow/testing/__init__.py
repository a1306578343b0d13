"""The conformance suite: the checks that winnow's own scores, selectors, signals, sources and engines pass.

In a test of your package:

    import pytest
    from winnow import testing

    @pytest.mark.parametrize(("name", "check"), testing.conformance("my_score", "my_selector"))
    def test_conformance(name, check):
        check()

or all checks of one score at once: `testing.check_score("my_score")`. If a check cannot hold for a method, such as
`higher_is_harder` for random numbers, name it in `excepting`. Nothing here needs pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..artefacts import Source
from ..core import registry
from ..core.errors import UnknownNameError
from ..engines import Engine, engine_of
from .engine_checks import checks_of_engine
from .planted import Planted, planted
from .score_checks import checks_of_score
from .selector_checks import checks_of_selector
from .signal_checks import checks_of_signal
from .source_checks import checks_of_source

__all__ = [
    "Planted",
    "check_all",
    "check_engine",
    "check_score",
    "check_selector",
    "check_signal",
    "check_source",
    "conformance",
    "planted",
]

Checks = dict[str, Callable[[], None]]
_OF: dict[registry.Kind, Callable[[str], Checks]] = {
    "signal": checks_of_signal,
    "score": checks_of_score,
    "selector": checks_of_selector,
    "engine": lambda name: checks_of_engine(engine_of("check_engine", name)),
}


def conformance(
    *names: str,
    package: str | None = None,
    kinds: Collection[registry.Kind] = tuple(_OF),
    excepting: Collection[str] = (),
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the checks of registered signals, scores, selectors and engines, one by one.

    Parameters
    ----------
    names
        Names of methods; all if none is given.
    package
        Only what this package registers.
    kinds
        Only these kinds.
    excepting
        Checks to leave out, by name (`higher_is_harder`) or for one method (`score-random-higher_is_harder`).

    Yields
    ------
    tuple
        An id, such as `score-el2n-higher_is_harder`, and a function that raises AssertionError if the check fails.
    """
    found = [entry for kind in kinds for entry in registry.listing(kind) if package is None or entry.package == package]
    for name in names:
        if name not in {entry.name for entry in found}:
            raise UnknownNameError.of("method to check", name, {entry.name for entry in found})
    for entry in found:
        if not names or entry.name in names:
            for what, check in _OF[entry.kind](entry.name).items():
                label = f"{entry.kind}-{entry.name}-{what}"
                if what not in excepting and label not in excepting:
                    yield label, check


def check_all(package: str, *, excepting: Collection[str] = ()) -> int:
    """Check every signal, score, selector and engine that a package registers; return the number of checks."""
    return _run(dict(conformance(package=package, excepting=excepting)))


def check_signal(name: str, *, excepting: Collection[str] = ()) -> int:
    """Check a registered signal by observing it on a few made-up rows; return the number of checks."""
    return _run(checks_of_signal(name), excepting)


def check_score(name: str, *, excepting: Collection[str] = ()) -> int:
    """Check a registered score on made-up signals with known hard examples; return the number of checks."""
    return _run(checks_of_score(name), excepting)


def check_selector(name: str, *, excepting: Collection[str] = ()) -> int:
    """Check a registered selector on made-up signals; return the number of checks."""
    return _run(checks_of_selector(name), excepting)


def check_source(open_: Callable[[], Source], *, excepting: Collection[str] = ()) -> int:
    """Check a source by a function that opens a small one, such as `lambda: wn.open("few.xyz")`."""
    return _run(checks_of_source(open_), excepting)


def check_engine(engine: Engine | str | Any, *, excepting: Collection[str] = ()) -> int:
    """Check an engine, or the registered engine of that name; return the number of checks."""
    return _run(checks_of_engine(engine_of("check_engine", engine)), excepting)


def _run(checks: Checks, excepting: Collection[str] = ()) -> int:
    """Run checks; the error names the check that failed."""
    for name in excepting:
        if name not in checks:
            raise UnknownNameError.of("check", name, checks)
    wanted = {name: check for name, check in checks.items() if name not in excepting}
    for name, check in wanted.items():
        try:
            check()
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    return len(wanted)
