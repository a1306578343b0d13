"""Redo what the universal-compression paper shows, sized for a small machine, and say where its claims hold.

    python -m studies.compression --out runs/compression [--only training_set width] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Sizes and settings were
chosen before anything was compared; test data are used to report, never to choose.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("exponents", "training_set", "width", "scaling", "width_scaling", "embeddings", "optimal_order", "batch_norm")


def main() -> None:
    run("compression", PARTS, __doc__.split("\n")[0], data=("fashion-mnist",))


if __name__ == "__main__":
    with shown():
        main()
