"""What is wrong with a data set: plant wrong labels and near-duplicates, find them with `wn.check`, and clean.

The check trains on the spot. It ranks every label by the probability that it is wrong, and names the likely class.
Open `checked/check.html` to look at what was found, mark it with the keyboard, and export the marks.
"""

import numpy as np

import winnow as wn

digits = wn.open("digits", limit=600)
pictures, labels = digits.fetch(digits.ids), digits.labels.copy()
names = np.array([f"digit-{k}" for k in range(len(digits))])

# Turn one label in twenty to the next digit, and add forty copies that are a little brighter.
rng = np.random.default_rng(0)
turned = rng.choice(len(digits), len(digits) // 20, replace=False)
labels[turned] = (labels[turned] + 1) % 10
copied = rng.choice(np.setdiff1d(np.arange(len(digits)), turned), 40, replace=False)
brighter = np.clip(pictures[copied].astype(int) + 6, 0, 255).astype(np.uint8)
data = (np.concatenate([pictures, brighter]), np.concatenate([labels, labels[copied]]))
ids = np.concatenate([names, [f"copy-of-{k}" for k in copied]])

issues = wn.check(data, ids=ids, model="mlp", recipe=wn.Recipe(epochs=8), out="checked")
print(issues.summary())
print(issues.table("label", limit=5))

first = issues.of("label")["id"][: len(turned)]
hits, by_chance = np.isin(first, names[turned]).sum(), len(turned) ** 2 / len(ids)
print(f"of the {len(turned)} labels most likely wrong, {hits} were turned; by chance it would be {by_chance:.1f}")

# A person looked at the first and says that it is right: it stays, and the rest is estimated again.
again = wn.check(data, ids=ids, model="mlp", recipe=wn.Recipe(epochs=8), marks={first[0]: "refused"}, out="again")
print(f"to train on: {again.clean()}; {first[0]} among them: {first[0] in again.clean().ids}")
