"""Redo what the ReLA paper shows, sized for a small machine, and say where its claims hold.

    python -m studies.rela --out runs/rela [--only properties methods] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Test data are used to
report, not to choose; what was not chosen blindly is said in docs/studies/rela.md.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("properties", "claim", "methods", "budgets", "schedule", "labels", "distances", "architectures", "renewal")


def main() -> None:
    run("rela", PARTS, __doc__.split("\n")[0], data=("cifar10", "fashion-mnist"))


if __name__ == "__main__":
    with shown():
        main()
