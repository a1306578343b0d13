"""A table with a number to predict: keep 60 % of scikit-learn's diabetes data and measure R2."""

from sklearn.datasets import load_diabetes

import winnow as wn

X, y = load_diabetes(return_X_y=True, as_frame=True)
# Floats are read as a regression target; columns keep their names in the report.
train = wn.open((X[:340], y[:340]), name="diabetes")
test = wn.open((X[340:], y[340:]), name="diabetes-test")
print(f"{train.name}: {len(train)} rows, {train.task}, columns {', '.join(train.columns)}")

recipe = wn.Recipe(epochs=40, batch=32)
subset = wn.prune(train, keep=0.6, model="mlp", recipe=recipe)
print(f"kept {len(subset)} by {subset.certificate['method']}: {subset.certificate['why']}\n")

study = wn.evaluate(train, {"pruned": subset}, test=test, model="mlp", recipe=recipe, seeds=5)
print(study.table())
