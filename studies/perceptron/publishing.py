"""The study's tables and figures, written into a folder."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.stats import chi2

from winnow.report.svg import drawing

from . import agreement, compute, figures, forms, information
from .simulations import TOTAL, Plan, Point, Shelf

DRAWINGS = {
    "1a": figures.errors_and_frontier,
    "1f": information.information,
    "2": figures.imperfect_probes,
    "7": figures.policies,
    "8a": compute.compute,
    "11a": forms.forms,
}


def publish(plan: Plan, shelf: Shelf, about: Mapping[str, Any], folder: Path) -> None:
    """Write `perceptron-table.md` and `perceptron-1a.png` to `perceptron-11a.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "perceptron-table.md").write_text(tables(plan, shelf, about))
    with drawing():
        for name, draw in DRAWINGS.items():
            picture = FigureCanvasAgg(draw(plan, shelf))
            picture.print_png(folder / f"perceptron-{name}.png", metadata={"Software": None})


def tables(plan: Plan, shelf: Shelf, about: Mapping[str, Any]) -> str:
    """The agreement and the numbers behind figures 1F, 8A and 11A, in sections that the docs take up one by one."""
    found = agreement.rows(plan, shelf)
    away, across = [row for row in found if not row.at_crossover], [row for row in found if row.at_crossover]
    sections = {
        "agreement": agreement_table(away),
        "crossover": [*header(across[0]), *(line(row) for row in across)],
        "information": counted_table(information.counts(plan, shelf)),
        "compute": cost_table(plan, compute.costs(plan, shelf)),
        "forms": form_table(),
        "made": [made(plan, about)],
    }
    marked = [
        [f"<!-- --8<-- [start:{name}] -->", "", *lines, "", f"<!-- --8<-- [end:{name}] -->", ""]
        for name, lines in sections.items()
    ]
    return "\n".join(line for lines in marked for line in lines)


def header(row: agreement.Row) -> list[str]:
    sizes = [f"N = {one.N}" for one in row.simulations]
    names = ["policy", "kept", "angle", "alpha", *sizes, "N to infinity", "theory", "miss", "steepness"]
    return ["| " + " | ".join(names) + " |", "|---|" + "---|" * (len(names) - 1)]


def line(row: agreement.Row) -> str:
    point = row.point
    cells = [
        policy(point),
        f"{row.limit.keep:.3g}",
        f"{point.angle:g}°",
        f"{point.alpha:g}",
        *(f"{one.error:.5f} ± {one.standard_error:.5f}" for one in row.simulations),
        f"{row.limit.error:.5f} ± {row.limit.standard_error:.5f}",
        f"{row.theory:.5f}",
        f"{row.miss:+.1f}",
        f"{row.steepness:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def policy(point: Point) -> str:
    return point.policy if isinstance(point.policy, str) else f"window {point.policy.a:g} to {point.policy.b:g}"


def agreement_table(found: Sequence[agreement.Row]) -> list[str]:
    """Points away from the crossover, and all of them together."""
    total = sum(row.miss**2 for row in found)
    fits = [row.limit for row in found if row.limit.chi_square is not None]
    lines, spare = sum(fit.chi_square or 0.0 for fit in fits), sum(fit.degrees for fit in fits)
    draws = ", ".join(f"{one.draws} at N = {one.N}" for one in found[0].simulations)
    inside = sum(abs(row.miss) < 1 for row in found), sum(abs(row.miss) < 2 for row in found)
    return [
        f"Test error of simulated students ± one standard error ({draws}), the limit of a straight line in 1/N through "
        "them, and theory. *Miss* is limit less theory in standard errors; *steepness* is "
        "-d log error / d log alpha by theory.",
        "",
        *header(found[0]),
        *(line(row) for row in found),
        "",
        f"All {len(found)} points together: chi-square {total:.1f} with {len(found)} degrees of freedom, "
        f"p = {chi2.sf(total, len(found)):.2f}; {inside[0]} within one standard error, {inside[1]} within two, the "
        f"largest miss {max(abs(row.miss) for row in found):.1f}. The straight lines themselves: chi-square "
        f"{lines:.1f} with {spare} degrees of freedom, p = {chi2.sf(lines, spare):.2f}. No point was left out.",
    ]


def counted_table(counted: Sequence[Mapping[str, float]]) -> list[str]:
    """Information per example: counted beside theory and beside the mended Eq. 76."""
    first = counted[0]
    lines = [
        f"Information of one more example in nats: counted in {first['N']} dimensions ({first['sets']} data sets a "
        "point, ± one standard error), by theory, and by Eq. 76 with its sign and alpha mended.",
        "",
        "| kept | alpha | counted | theory | miss | Eq. 76 mended |",
        "|---|---|---|---|---|---|",
    ]
    for row in counted:
        miss = (row["nats"] - row["theory"]) / row["standard_error"]
        lines.append(
            f"| {row['keep']:g} | {row['alpha']:g} | {row['nats']:.4f} ± {row['standard_error']:.4f} | "
            f"{row['theory']:.4f} | {miss:+.1f} | {information.mended_at(row['alpha'], row['keep']):.4f} |"
        )
    return lines


def cost_table(plan: Plan, found: Sequence[compute.Cost]) -> list[str]:
    """Seconds of the solver."""
    return [
        f"Processor seconds of one student in {plan.N} dimensions, fitted as a alpha^(b + c log alpha) over "
        f"alpha {plan.alphas[0]:g} to {plan.alphas[-1]:g} by least squares of the logs; *scatter* is the fit's typical "
        "relative miss.",
        "",
        "| kept | a, milliseconds | b | c | scatter |",
        "|---|---|---|---|---|",
        *(f"| {c.keep:g} | {1000 * c.at_one:.1f} | {c.power:.2f} | {c.bend:+.2f} | {c.scatter:.0%} |" for c in found),
    ]


def form_table() -> list[str]:
    """The forms fitted to the frontier."""
    lines = [
        f"Forms fitted to theory's frontier at a total of {TOTAL:g}, by least squares of log error; *scatter* is the "
        "typical relative miss.",
        "",
        "| fitted to | form | AICc | weight | scatter | parameters |",
        "|---|---|---|---|---|---|",
    ]
    for name, fit in forms.frontier_fits().items():
        span = f"alpha {fit.sizes.min():.3g} to {fit.sizes.max():.3g}"
        for one in sorted(fit.forms.values(), key=lambda form: form.aic):
            values = ", ".join(f"{key} = {value:.3g}" for key, value in one.parameters.items())
            edge = f" ({one.note})" if one.note else ""
            lines.append(
                f"| {name}, {span} | {one.name}: {one.formula} | {one.aic:.1f} | {one.weight:.3f} | "
                f"{one.residual_sd:.0%} | {values}{edge} |"
            )
        lines += [f"| {name}, {span} | {other} | | | | left out: {why} |" for other, why in fit.left_out.items()]
    return lines


def made(plan: Plan, about: Mapping[str, Any]) -> str:
    return (
        f"Measured {about['date']} on {machine()}, no GPU, by `{about['command']}`: {about['simulations']} simulations "
        f"and {len(plan.counts)} counts, {about['seconds'] / 60:.0f} minutes of one core in all."
    )


def machine() -> str:
    """This machine in a few words."""
    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = [row.split(":")[1].strip() for row in cpu.read_text().splitlines() if row.startswith("model name")]
        name = names[0] if names else name
    return f"{os.cpu_count()} cores ({name})"
