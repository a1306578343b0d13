"""How examples teach each other: explain a data set, and find labels that were turned on purpose.

`wn.explain` trains once and reads from the network's tangent kernel which classes are near each other, and which
examples the others of their class support less than nearly all of their own.
"""

import numpy as np

import winnow as wn

source = wn.open("digits", limit=700)

# Turn one label in twenty to the next digit.
rng = np.random.default_rng(0)
turned = rng.choice(len(source), len(source) // 20, replace=False)
labels = source.labels.copy()
labels[turned] = (labels[turned] + 1) % 10
wrong = source.with_labels(labels, "classification", source.classes)

found = wn.explain(wrong, model="mlp", recipe=wn.Recipe(epochs=8), errors=35, out="explained")
near = found.between[0]
print(f"nearest classes: {near.one} and {near.other}, mean cosine {near.cosine:.2f}")

planted = set(wrong.ids[turned].tolist())
hits = sum(one.id in planted for one in found.errors)
by_chance = len(found.errors) * len(planted) / len(wrong)
print(f"{hits} of {len(found.errors)} listed labels were turned; by chance it would be {by_chance:.1f}")

first = found.errors[0]
print(f"the first: {first.id}, label {first.label}, looks like {first.suggested} (see {first.witness})")
print(wn.explain(wrong, first.id, model="mlp", recipe=wn.Recipe(epochs=8), out="explained"))  # the same network
print("pages to look at: explained/explanation.html and beside it")
