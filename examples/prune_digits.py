"""Keep 40 % of the digits, then retrain to see what that costs.

Writes subset.parquet and report.html into the current folder.
"""

import winnow as wn

train, test = wn.open("digits"), wn.open("digits", split="test")
recipe = wn.Recipe(epochs=15)

subset = wn.prune(train, keep=0.4, model="mlp", recipe=recipe)
print(f"kept {len(subset)} of {len(train)} by {subset.certificate['method']}: {subset.certificate['why']}\n")

# Five trainings each: the subset, random subsets of the same size, everything for as many steps, everything in full.
study = wn.evaluate(train, {"pruned": subset}, test=test, model="mlp", recipe=recipe, seeds=5)
print(study.table())

gap = study.versus("pruned", "full")
print(f"\npruned against full: {gap.centre:+.4f}, 95 % interval {gap.low:+.4f} to {gap.high:+.4f}")

subset.save("subset.parquet")
study.report("report.html")
