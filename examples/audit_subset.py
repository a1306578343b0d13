"""Audit a subset that another tool chose, and ask which training examples taught a network its worst mistakes.

The subset is made with scikit-learn and saved as a CSV file of ids, as any tool could. `wn.audit` compares it with
random subsets of the same size; `wn.why` names the teachers of a mistake and checks them by training again.
"""

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

import winnow as wn

source = wn.open("digits", limit=600)

# Another tool: the images nearest to 60 centres of k-means.
pixels = source.read(np.arange(len(source))).reshape(len(source), -1).astype(float)
centres = KMeans(60, n_init=1, random_state=0).fit(pixels).cluster_centers_
nearest = np.unique(((pixels[:, None] - centres) ** 2).sum(axis=2).argmin(axis=0))
Path("chosen.csv").write_text("\n".join(["image_id", *source.ids[nearest]]))

how = {"model": "mlp", "recipe": wn.Recipe(epochs=6, batch=32)}
print(wn.audit("chosen.csv", source, test=wn.open("digits", split="test"), **how, out="audited"))

found = wn.why(source, wn.open("digits", split="test"), worst=2, k=5, **how, out="taught")
print(f"\n{found}")
right, checked = found.confirmed
print(f"\n{right} of {checked} mistakes confirmed; pages to look at: audited/audit.html and taught/why.html")
