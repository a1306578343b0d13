"""New data arrives: prune, let a quarter more come, prune again from the earlier run, and write what is kept as CSV.

Only the new rows are observed; the old ones keep what the first run recorded.
"""

import csv
import time
from pathlib import Path

import numpy as np

import winnow as wn

rng = np.random.default_rng(0)
label = rng.integers(0, 3, 1000)
points = rng.normal(size=(1000, 6)) + label[:, None] * np.linspace(1, 0, 6)


def write(count: int) -> None:
    """The first rows of a table that grows, with a column that winnow is told not to read."""
    with Path("rows.csv").open("w", newline="") as file:
        rows = ([*point.round(4), f"row {k}", f"class {label[k]}"] for k, point in enumerate(points[:count]))
        csv.writer(file).writerows([[*"abcdef", "note", "label"], *rows])


how = {"keep": 0.4, "columns": list("abcdef"), "recipe": wn.Recipe(epochs=8, batch=32), "engine": wn.Local(workers=1)}
for run, count, base in (("monday", 800, None), ("tuesday", 1000, "monday")):
    write(count)
    start = time.perf_counter()
    subset = wn.prune("rows.csv", base=base, out=run, **how)
    print(f"{run}: kept {len(subset)} of {count} rows in {time.perf_counter() - start:.1f} s")

print(subset.certificate["since"]["said"])
subset.export("kept.csv", "rows.csv")
print(*Path("kept.csv").read_text().splitlines()[:3], sep="\n")
