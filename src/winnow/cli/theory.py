"""winnow theory: what pruning does to a model that can be solved exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import InputError
from . import options as o
from .command import PlainCommand

if TYPE_CHECKING:
    from ..methods.theory import Window

EXAMPLES = """
Examples:

    winnow theory

    winnow theory --keep 0.5 --keep 0.2 --keep 0.1 --figure curves.png

    winnow theory --total 100 --angle 0 --angle 10

    winnow theory --policy hard --policy easy --policy window --simulate --figure curves.svg
"""
KEEP = 0.2  # small enough for the choice between hard and easy to matter
TOP = 10.0
FINE = 97  # points of a drawn line
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
Row = dict[str, Any]
Limits = dict[str, Any]  # total= and smallest=, as the library takes them


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
    from ..methods.theory.advice import how_far_apart, what_it_teaches

    if figure is not None:
        from ..report.theory_figure import file_format

        file_format(figure)  # an invalid name should fail before the simulation
    if information and (simulate or total is not None or smallest is not None or any(angle or ())):
        raise InputError(
            "--information is solved for a perfect probe and a given fraction; leave out --angle, --total, --smallest "
            "and --simulate."
        )
    alphas = _alphas(alpha, start, stop, points, total)
    limits = {"total": total, "smallest": smallest}
    curves = _curves(policy, window, keep, angle, limits)
    rows = [_rows(curve, alphas, limits, information) for curve in curves]
    if simulate:
        how = {"N": dimension, "draws": draws, "seed": seed, "workers": workers}
        rows = [[_simulated(row, how) for row in some] for some in rows]
    flat = [row for some in rows for row in some]
    said = [what_it_teaches(flat)] if information else _advice(curves, rows, limits)
    said += [how_far_apart(flat, dimension)] if simulate else []
    if figure is not None:
        _draw(curves, rows, alphas, limits, information, figure)
    if as_json:
        o.say_json({"points": flat, "advice": said, "figure": None if figure is None else str(figure)})
        return
    shown = [{HEADS[key]: row[key] for key in HEADS if key in row} for row in flat]
    typer.echo("\n\n".join([str(Table(tuple(shown))), *said, *([] if figure is None else [f"figure  {figure}"])]))


@dataclass(frozen=True)
class _Curve:
    """A requested curve; the policy "window" is the best window at each point, a keep of None the best fraction."""

    policy: str | Window
    keep: float | None
    angle: float

    @property
    def parts(self) -> tuple[str, str, str]:
        """Return the parts of its name; only those that tell curves apart are shown."""
        probe = f"probe {self.angle:g}\N{DEGREE SIGN} off" if self.angle else "perfect probe"
        if not isinstance(self.policy, str):
            return f"window {self.policy.a:g} to {self.policy.b:g}", f"keep {self.policy.keep:.2g}", probe
        kept = "best fraction" if self.keep is None else f"keep {self.keep:g}"
        return ("best window" if self.policy == "window" else self.policy), kept, probe


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
    policies: list[str] | None, window: str | None, keeps: list[str] | None, angles: list[float] | None, limits: Limits
) -> list[_Curve]:
    """Return every requested combination once."""
    if window is not None and policies and "window" not in policies:
        raise InputError("--window belongs to --policy window; give both or neither.")
    words = policies or ["hard" if window is None else "window"]
    found = [_window(window) if word == "window" else word for word in words]
    fractions: list[float | None] = [_keep(text) for text in keeps or ()]
    bounded = any(limit is not None for limit in limits.values())
    if bounded and None not in fractions:
        fractions.append(None)
    asked = [
        _Curve(policy, fraction, degrees)
        for policy in found
        for fraction in fractions or [KEEP if isinstance(policy, str) else 1.0]
        for degrees in angles or [0.0]
    ]
    return list(dict.fromkeys(asked))


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


def _rows(curve: _Curve, alphas: list[float], limits: Limits, information: bool) -> list[Row]:
    """Return one row per point, computed by the library."""
    from ..methods.theory import Window, frontier, information_gain, learning_curve, optimal_window, solve

    keeps: list[Any] = [curve.keep] * len(alphas)
    if curve.keep is None:
        policy: Any = curve.policy  # frontier checks the policy
        keeps = frontier(alphas, angle=curve.angle, policy=policy, **limits).keep.tolist()
    rows = []
    ordinary = information_gain(alphas).nats if information else learning_curve(alphas).error
    for alpha, keep, usual in zip(alphas, keeps, ordinary.tolist(), strict=True):
        best = curve.policy == "window"
        chosen = optimal_window(alpha, keep, curve.angle).policy if best else curve.policy
        fraction = 1.0 if best else keep
        ends = (chosen.a, chosen.b) if isinstance(chosen, Window) else (None, None)
        row: Row = {"alpha": alpha, "policy": chosen if ends[0] is None else "window", "a": ends[0], "b": ends[1]}
        if information:
            told = information_gain(alpha, fraction, chosen)
            row |= {"keep": keep if ends[0] is None else told.keep, "information": told.nats,
                    "random_information": usual, "q": told.q, "R": told.R}  # fmt: skip
        else:
            got = solve(alpha, fraction, curve.angle, chosen)
            row |= {"keep": got.keep, "angle": got.angle, "error": got.error, "random_error": usual,
                    "kappa": got.kappa, "R": got.R, "rho": got.rho}  # fmt: skip
        rows.append(row)
    return rows


def _simulated(row: Row, how: dict[str, Any]) -> Row:
    from ..methods.theory import simulate, window

    policy = window(row["a"], row["b"]) if row["policy"] == "window" else row["policy"]
    keep = 1.0 if row["policy"] == "window" else row["keep"]
    got = simulate(row["alpha"], keep, row["angle"], policy=policy, **how)
    return {**row, "simulated_error": got.error, "standard_error": got.standard_error}


def _advice(curves: list[_Curve], rows: list[list[Row]], limits: Limits) -> list[str]:
    """Say for each angle which policy to use at every requested fraction, and the best fraction if requested."""
    from ..methods.theory.advice import best_fraction, enough_of, which_to_keep

    said = []
    for angle in dict.fromkeys(curve.angle for curve in curves):
        here = [(curve.keep, some) for curve, some in zip(curves, rows, strict=True) if curve.angle == angle]
        given = [some[-1]["keep"] for keep, some in here if keep is not None]
        free = [some[-1] for keep, some in here if keep is None]
        fine = _fine([row["alpha"] for row in rows[0]])
        said += [which_to_keep(keep, angle, fine) for keep in dict.fromkeys(given)]
        if limits["total"] is not None:
            said.append(enough_of(limits["total"], angle, limits["smallest"]))
        elif free:
            said.append(best_fraction(min(free, key=lambda row: float(row["error"]))))
    return said


def _fine(alphas: list[float]) -> list[float]:
    """Return the same range with more points."""
    import numpy as np

    between = np.geomspace(alphas[0], alphas[-1], FINE).tolist() if len(alphas) > 1 else []
    return sorted({*alphas, *between})


def _draw(
    curves: list[_Curve], rows: list[list[Row]], alphas: list[float], limits: Limits, information: bool, path: Path
) -> None:
    """Draw the figure: smooth lines, named by what differs between curves; simulated points as marks."""
    from ..report.theory_figure import Line, PointMarks, draw_theory

    value = "information" if information else "error"
    told = [len({curve.parts[i] for curve in curves}) > 1 for i in range(3)]
    differing = told if any(told) else [True, True, False]
    fine = _fine(alphas)
    usual = [row[value] for row in _rows(_Curve("random", 1.0, 0.0), fine, limits, information)]
    lines, random = [], Line("random", fine, usual)
    for curve, some in zip(curves, rows, strict=True):
        marks = None
        if "simulated_error" in some[0]:
            marks = PointMarks(*([row[key] for row in some] for key in ("alpha", "simulated_error", "standard_error")))
        if curve.policy == "random":
            random = replace(random, marks=marks)
            continue
        slow = curve.keep is None and curve.policy == "window"  # two nested searches: seconds per point
        dense = some if slow else _rows(curve, fine, limits, information)
        name = ", ".join(part for part, shown in zip(curve.parts, differing, strict=True) if shown)
        lines.append(Line(name, [row["alpha"] for row in dense], [row[value] for row in dense], marks))
    common = ", ".join(part for part, shown in zip(curves[0].parts, differing, strict=True) if not shown)
    axis = "information of one more example, nats" if information else "error on new data"
    draw_theory(lines, path, reference=random, title=common, axis=axis)
