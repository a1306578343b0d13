"""A table with strings, dates, categories and missing values: look at it, choose half of it, prove it.

pip install 'winnow-data[tables]'
python examples/mixed_table.py
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import winnow as wn


def customers(n, seed):
    """Customers of a shop, some of whom leave."""
    rng = np.random.default_rng(seed)
    months, income = rng.integers(1, 60, n), rng.normal(50, 12, n)
    plan = rng.choice(["basic", "family", "pro"], n)
    leaves = 0.08 * income - 0.06 * months - 1.5 * (plan == "pro") + rng.normal(0, 1, n) > 1.7
    return pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.1, np.nan, income.round(1)),
            "plan": pd.Categorical(plan),
            "town": [
                f"{name} {number}"
                for name, number in zip(rng.choice(["Oslo", "Turin"], n), rng.integers(0, 40, n), strict=True)
            ],
            "since": pd.Timestamp("2026-01-01") - pd.to_timedelta(months * 30, unit="D"),
            "newsletter": rng.choice([True, False, None], n),
            "label": np.where(leaves, "leaves", "stays"),
        }
    )


def main():
    train, test = customers(600, 0), customers(300, 1)
    source = wn.open(train)
    print(source)
    for name, column in source.origin["encoding"]["columns"].items():
        print(f"  {name}: {column['kind']}, {len(column['features'])} features, {column.get('missing', 0)} missing")

    here = wn.Local(workers=1)
    recipe = wn.Recipe(epochs=8)
    print(wn.check(source, recipe=recipe, folds=2, engine=here).summary())

    # The test set is encoded as the training set was: nothing is fitted to it.
    proof = wn.prune_with_proof(source, keep=0.5, test=test, recipe=recipe, proof_seeds=2, engine=here)
    print(proof.study.table())

    # The same subset for an estimator of scikit-learn.
    model = HistGradientBoostingClassifier(max_iter=30)
    print(wn.evaluate(source, {"half": proof.subset}, test=test, model=model, seeds=2, engine=here).table())


if __name__ == "__main__":
    main()
