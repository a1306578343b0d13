"""Redo in small what the data-pruning paper shows of its metrics: prototypes, probes, durations, shifted tests.

    python -m studies.metrics --out runs/metrics [--only similarity prototypes] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Sizes and settings were
chosen before anything was compared; test data are used to report, never to choose.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("similarity", "prototypes", "backbones", "probes", "iterations", "shifts")


def main() -> None:
    run("metrics", PARTS, __doc__.split("\n")[0], data=("fashion-mnist",))


if __name__ == "__main__":
    with shown():
        main()
