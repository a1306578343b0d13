"""The pruning study's table and figure, from a saved study."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import winnow as wn

TICKS = (-50, -20, -10, -5, -2, -1, 0, 1, 2)
INK, GREY, PLAIN, BALANCED = "#1b1f24", "#8a929c", "#0b6fb8", "#d1590b"


def publish(study: wn.Study, about: Mapping[str, Any], folder: Path) -> None:
    """Write `pruning-table.md` and `pruning.png` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pruning-table.md").write_text(table(study, about))
    figure = draw(study)
    FigureCanvasAgg(figure).print_png(folder / "pruning.png", metadata={"Software": None})


def fractions(study: wn.Study) -> list[str]:
    """The fractions as arm names write them, from most kept to least."""
    found = {arm.name.split("@")[1] for arm in study.arms if arm.kind == "subset"}
    return sorted(found, key=float, reverse=True)


def methods(study: wn.Study) -> list[str]:
    """The methods, in the order they were run."""
    return list(dict.fromkeys(arm.name.split("@")[0] for arm in study.arms if arm.kind == "subset"))


def verdict(gap: Any) -> str:
    """A mark for a paired difference whose interval leaves zero out."""
    if not gap.excludes_zero:
        return ""
    return " ▲" if gap.centre > 0 else " ▼"


def table(study: wn.Study, about: Mapping[str, Any]) -> str:
    """Accuracy of every arm and its paired difference to random, in points."""
    kept = fractions(study)
    full = study.interval(study.full.name)
    lines = [
        f"Test accuracy in %, mean over {about['seeds']} seeds ± half the 95 % t interval; in brackets the "
        "difference to random, paired by seed. ▲ better and ▼ worse than random, where that interval leaves zero out.",
        "",
        "| method | " + " | ".join(f"kept {f}" for f in kept) + " |",
        "|---|" + "---|" * len(kept),
        f"| everything | {100 * full.centre:.2f} ± {100 * full.half_width:.2f} |" + " |" * (len(kept) - 1),
    ]
    baselines = {f: study.arm(f"{methods(study)[0]}@{f}").baseline for f in kept}
    row = [study.interval(baselines[f]) for f in kept]
    lines.append("| random | " + " | ".join(f"{100 * r.centre:.2f} ± {100 * r.half_width:.2f}" for r in row) + " |")
    for method in methods(study):
        cells = []
        for f in kept:
            got, gap = study.interval(f"{method}@{f}"), study.versus(f"{method}@{f}", baselines[f])
            cells.append(
                f"{100 * got.centre:.2f} ± {100 * got.half_width:.2f} "
                f"({100 * gap.centre:+.2f} ± {100 * gap.half_width:.2f}){verdict(gap)}"
            )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    trusted = ", ".join(f"{name} {value:.2f}" for name, value in about["reliability"].items() if value is not None)
    lines += [
        "",
        f"{about['data']}; {about['model']}, {about['epochs']} epochs a retraining, matched-iterations factor "
        f"{about['match_iterations']:g}; observed {about['observe']}, which every method's cost includes. "
        f"Reliability of the scores between halves of the seeds: {trusted}. Measured {about['date']} on {machine()} by "
        f"`python -m studies.pruning`: {len(study.outcomes)} retrainings and the observation, "
        f"{about['seconds'] / 60:.0f} minutes of one core in all.",
        "",
    ]
    return "\n".join(lines)


def machine() -> str:
    """This machine in a few words."""
    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = [line.split(":")[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")]
        name = names[0] if names else name
    return f"{os.cpu_count()} cores ({name})"


def draw(study: wn.Study) -> Figure:
    """One panel a method: difference to random against the fraction kept, balanced by class and not."""
    kept = fractions(study)
    bare = [name for name in methods(study) if not name.endswith(" balanced")]
    columns = min(3, len(bare))
    rows = -(-len(bare) // columns)
    figure = Figure(figsize=(3.3 * columns, 2.7 * rows + 0.5), layout="constrained", dpi=150)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for panel, name in zip(axes.flat, bare, strict=False):
        panel.axhline(0, color=GREY, linewidth=1)
        for word, colour, marker, shift in (("", PLAIN, "o", -0.08), (" balanced", BALANCED, "s", 0.08)):
            if f"{name}{word}" not in methods(study):
                continue
            arms = [f"{name}{word}@{f}" for f in kept]
            gaps = [study.versus(arm, study.arm(arm).baseline) for arm in arms]
            panel.errorbar(
                [i + shift for i in range(len(kept))],
                [100 * g.centre for g in gaps],
                yerr=[100 * g.half_width for g in gaps],
                color=colour,
                marker=marker,
                markersize=4.5,
                linewidth=1.4,
                capsize=2.5,
                label="half-balanced by class" if word else "as ranked",
            )
        panel.set_title(name, fontsize=10, color=INK, loc="left")
        panel.set_xticks(range(len(kept)), kept)
        # Straight up to two points, where methods are told apart, then by powers: collapses are fifty points deep.
        panel.set_yscale("symlog", linthresh=2, linscale=1.5)
        panel.set_yticks(TICKS, [f"{tick:+g}" if tick else "0" for tick in TICKS], minor=False)
        panel.yaxis.set_minor_locator(NullLocator())
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    for panel in axes.flat[len(bare) :]:
        panel.set_axis_off()
    axes[0][0].legend(fontsize=8, frameon=False, loc="upper right")
    figure.supxlabel("fraction of the training data kept", fontsize=9)
    figure.supylabel("accuracy above random of the same size, points", fontsize=9)
    return figure
