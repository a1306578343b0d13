"""One observation, several scores, two ways to keep a fifth, and how each does against random."""

import winnow as wn

train, test = wn.open("digits"), wn.open("digits", split="test")
recipe = wn.Recipe(epochs=15)

# Training happens here, once a seed; every score below is computed from what was recorded.
signals = wn.observe(train, model="mlp", recipe=recipe, seeds=4, want=("logits", "embeddings"))

scores = {name: wn.score(name, signals) for name in ("el2n", "forgetting", "aum", "entropy", "class_prototype")}
for name, found in scores.items():
    known = "-" if found.reliability is None else f"{found.reliability:.2f}"
    hardest = found.values.argmax()
    print(f"{name:16} reliability {known:5} hardest {found.ids[hardest]} (a {train.classes[train.labels[hardest]]})")

subsets = {
    "hardest": wn.select("rank", scores["el2n"], keep=0.2, balance=0.5),
    "strata": wn.select("strata", scores["aum"], keep=0.2, balance=0.5),
}
study = wn.evaluate(train, subsets, test=test, model="mlp", recipe=recipe, seeds=5, match_iterations=0.5)
print(f"\n{study.table()}\n")
for name in subsets:
    gap = study.versus(name, study.arm(name).baseline)
    verdict = "differs from random" if gap.excludes_zero else "cannot be told from random"
    print(f"{name}: {gap.centre:+.4f} against random, {verdict} over {gap.runs} seeds")
