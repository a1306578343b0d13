"""Data without labels: embed it, score by distance to the nearest prototype, keep a third.

Any torch module can take the place of "raw", which uses the scaled inputs themselves.
"""

from sklearn.datasets import load_digits

import winnow as wn

source = wn.open(load_digits().images, name="digits without labels")
signals = wn.embed(source, "raw")

scores = wn.score("prototype", signals, k=10)
print(f"{len(source)} examples, {source.task}; reliability of the score {scores.reliability:.2f}")

# Without classes, balance shares out over clusters of the embeddings, so they are passed along.
subset = wn.select("strata", scores, keep=1 / 3, balance=0.5, signals=signals)
for cluster, count in subset.certificate["cluster_counts"].items():
    print(f"  {cluster}: {count} kept")
subset.save("subset.parquet")
print(f"kept {len(subset)}; the first ids are {', '.join(subset.ids[:3])}")
