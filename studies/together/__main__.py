"""Measure what the methods can do together: exact weighted heads, which examples taught a mistake, narrowed probes.

    python -m studies.together --out runs/together [--only exact why] [--publish docs/studies]

Every result is kept as soon as it is there. Kill it at any moment: the same command goes on. Test data are used to
report, never to choose.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("exact", "why", "narrowed")


def main() -> None:
    run("together", PARTS, __doc__.split("\n")[0], data=("digits", "fashion-mnist"))


if __name__ == "__main__":
    with shown():
        main()
