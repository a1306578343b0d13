"""winnow theory: what pruning does to a model that can be solved exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError
from ..core.parameter_names import called
from . import options as o
from .command import PlainCommand

if TYPE_CHECKING:
    from ..methods.theory import Window
    from ..methods.theory.curve_table import PolicyCurve

EXAMPLES = """
Examples:

    winnow theory

    winnow theory --keep 0.5 --keep 0.2 --keep 0.1 --figure curves.png

    winnow theory --total 100 --angle 0 --angle 10

    winnow theory --policy hard --policy easy --policy window --simulate --figure curves.svg
"""
KEEP = 0.2  # small enough for the choice between hard and easy to matter
TOP = 10.0
HEADS = {
    "alpha": "kept per dimension",
    "policy": "policy",
    "keep": "keep",
    "angle": "angle",
    "a": "window from",
    "b": "to",
    "error": "error",
    "random_error": "at random",
    "simulated_error": "simulated",
    "standard_error": "standard error",
    "information": "nats per example",
    "random_information": "at random",
    "kappa": "margin (kappa)",
    "q": "overlap of students (q)",
    "R": "overlap with teacher (R)",
    "rho": "with probe (rho)",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("theory", cls=PlainCommand, epilog=EXAMPLES)(theory)


def theory(
    alpha: Annotated[
        list[float] | None, typer.Option(help="Kept examples per dimension; may be given several times.")
    ] = None,
    start: Annotated[
        float | None,
        typer.Option("--from", help="Instead of --alpha: the smallest value; a hundredth of --to if not given."),
    ] = None,
    stop: Annotated[
        float | None, typer.Option("--to", help="The largest value; --total if given, otherwise 10.")
    ] = None,
    points: Annotated[int, typer.Option(help="Number of values from --from to --to, evenly spaced in logarithm.")] = 13,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Fraction kept, in (0, 1], or best; 0.2 if not given. May be given several times."),
    ] = None,
    angle: Annotated[
        list[float] | None,
        typer.Option(
            help="Degrees between probe and teacher, 0 to 90; 0 is a perfect probe. May be given several times."
        ),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Keep hard, easy, random or window; may be given several times.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="For --policy window: its ends as A,B, or best, which is found for each alpha.")
    ] = None,
    total: Annotated[
        float | None, typer.Option(help="Examples per dimension before pruning; adds --keep best.")
    ] = None,
    smallest: Annotated[float | None, typer.Option(help="The smallest fraction that --keep best may choose.")] = None,
    information: Annotated[
        bool, typer.Option("--information", help="Show what one more example teaches, instead of the error.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Also train such students and show their errors.")
    ] = False,
    dimension: Annotated[int, typer.Option(help="Dimensions of a simulated student.")] = 100,
    draws: Annotated[int, typer.Option(help="Simulated students per point.")] = 50,
    seed: o.Seed = 0,
    workers: Annotated[int | None, typer.Option(help="Threads for simulations; all cores if not given.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the curves to a .png, .svg or .pdf file.")] = None,
    as_json: o.Json = False,
) -> None:
    """Solve the theory of pruning: the error of students trained on hard, easy or random examples."""
    from ..artefacts import Table
    from ..methods.theory.curve_table import curve_table

    if figure is not None:
        from ..report.theory_figure import file_format

        file_format(figure)  # an invalid name should fail before the simulation
    if information and (simulate or total is not None or smallest is not None or any(angle or ())):
        raise InputError(
            "--information is solved for a perfect probe and a given fraction; leave out --angle, --total, --smallest "
            "and --simulate."
        )
    alphas = _alphas(alpha, start, stop, points, total)
    limited = total is not None or smallest is not None
    curves = _curves(policy, window, keep, angle, limited)
    options = ("alpha", "keep", "angle", "policy", "window", "total", "smallest")
    with called({(owner, name): f"--{name}" for owner in ("solve", "frontier", "best_keep") for name in options}):
        table = curve_table(alphas, curves, total=total, smallest=smallest, information=information)
    if simulate:
        table = table.simulated(dimension, draws=draws, seed=seed, workers=workers)
    said = table.advice()
    if figure is not None:
        from ..report.theory_figure import draw_rows

        draw_rows(table.lines(), figure, title=table.names()[1], value="information" if information else "error")
    if as_json:
        o.say_json({"points": table.points, "advice": said, "figure": None if figure is None else str(figure)})
        return
    shown = [{HEADS[key]: row[key] for key in HEADS if key in row} for row in table.points]
    typer.echo("\n\n".join([str(Table(tuple(shown))), *said, *([] if figure is None else [f"figure  {figure}"])]))


def _alphas(
    given: list[float] | None, start: float | None, stop: float | None, points: int, total: float | None
) -> list[float]:
    """Return the numbers of kept examples per dimension, ascending."""
    import numpy as np

    from ..core import checks

    if given:
        if start is not None or stop is not None:
            raise InputError("--alpha gives single values, --from and --to a range; give one of them.")
        return sorted(set(given))
    top = total if total is not None and 0 < total < np.inf else TOP
    last = checks.number("--to", "winnow theory", top if stop is None else stop, low=0.0, open_low=True)
    first = last / 100 if start is None else start
    first = checks.number("--from", "winnow theory", first, low=0.0, high=last, open_low=True, open_high=True)
    return [float(x) for x in np.geomspace(first, last, checks.integer("--points", "winnow theory", points, low=2))]


def _curves(
    policies: list[str] | None, window: str | None, keeps: list[str] | None, angles: list[float] | None, limited: bool
) -> list[PolicyCurve]:
    """Return every requested combination."""
    from ..methods.theory.curve_table import PolicyCurve

    if window is not None and policies and "window" not in policies:
        raise InputError("--window belongs to --policy window; give both or neither.")
    words = policies or ["hard" if window is None else "window"]
    found = [_window(window) if word == "window" else word for word in words]
    fractions: list[float | None] = [_keep(text) for text in keeps or ()]
    if limited and None not in fractions:
        fractions.append(None)
    return [
        PolicyCurve(policy, fraction, degrees)
        for policy in found
        for fraction in fractions or [KEEP if isinstance(policy, str) else 1.0]
        for degrees in angles or [0.0]
    ]


def _keep(text: str) -> float | None:
    try:
        return None if text == "best" else float(text)
    except ValueError:
        raise InputError(f"--keep must be a fraction in (0, 1] or best; got {text!r}.") from None


def _window(text: str | None) -> str | Window:
    from ..methods.theory import window

    if text in (None, "best"):
        return "window"
    try:
        low, high = (float(end) for end in str(text).split(","))
    except ValueError:
        raise InputError(f"--window must be two numbers as A,B, or best; got {text!r}.") from None
    return window(low, high)
