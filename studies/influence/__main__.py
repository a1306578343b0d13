"""Redo what the dataset-pruning paper shows, and check by retraining what certificates of `wn.influence` say.

    python -m studies.influence --out runs/influence [--only loo curve] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Sizes and settings were
chosen before anything was compared; test data are used to report, never to choose.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("loo", "curve", "spare", "bound", "gap", "pruning", "transfer", "pace", "search", "repeats", "last_layers")


def main() -> None:
    run("influence", PARTS, __doc__.split("\n")[0], data=("fashion-mnist",))


if __name__ == "__main__":
    with shown():
        main()
