"""Redo what the lpNTK paper shows, sized for a small machine, and say where its claims hold.

    python -m studies.lpntk --out runs/lpntk [--only poison tail] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Sizes and settings were
chosen before anything was looked at; test data are used to report, never to choose.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("difficulty", "companions", "forgetting", "tail", "pruning", "networks", "poison", "head_only")


def main() -> None:
    run("lpntk", PARTS, __doc__.split("\n")[0], data=("mnist", "fashion-mnist"))


if __name__ == "__main__":
    with shown():
        main()
