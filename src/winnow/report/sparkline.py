"""A learning curve as a small drawing: the probability of an example's label over the epochs of training."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

__all__ = ["sparkline"]

WIDE, HIGH, EDGE = 100, 28, 2


def sparkline(values: Sequence[float]) -> Markup:
    """The curve as SVG; empty if there are no values.

    Parameters
    ----------
    values
        Probabilities, one per epoch.
    """
    if not len(values):
        return Markup("")
    heights = [EDGE + (1 - min(max(value, 0.0), 1.0)) * (HIGH - 2 * EDGE) for value in values]
    step = (WIDE - 2 * EDGE) / max(len(values) - 1, 1)
    points = " ".join(f"{EDGE + number * step:.1f},{height:.1f}" for number, height in enumerate(heights))
    if len(values) == 1:
        points += f" {WIDE - EDGE},{heights[0]:.1f}"
    epochs = f"{len(values)} epoch" + ("" if len(values) == 1 else "s")
    said = f"Probability of the given label over {epochs}: from {values[0]:.2f} to {values[-1]:.2f}"
    return Markup(
        f'<svg class="curve" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(said)}" '
        f'preserveAspectRatio="none"><title>{escape(said)}</title>'
        f'<path class="half" d="M0 {HIGH / 2}H{WIDE}"/><polyline points="{points}"/></svg>'
    )
