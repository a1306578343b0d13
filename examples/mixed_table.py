"""A table with strings, dates, categories and missing values: look at it, choose half of it, prove it.

pip install 'winnow-data[tables]'
python examples/mixed_table.py
"""

import numpy as np
import pandas as pd

import winnow as wn


def customers(n, seed):
    """Customers of a shop, some of whom leave."""
    rng = np.random.default_rng(seed)
    months, income, plan = rng.integers(1, 60, n), rng.normal(50, 12, n), rng.choice(["basic", "family", "pro"], n)
    leaves = 0.08 * income - 0.06 * months - 1.5 * (plan == "pro") + rng.normal(0, 1, n) > 1.7
    columns = {
        "income": np.where(rng.random(n) < 0.1, np.nan, income.round(1)),
        "plan": pd.Categorical(plan),
        "town": [f"Oslo {number}" for number in rng.integers(0, 80, n)],
        "since": pd.Timestamp("2026-01-01") - pd.to_timedelta(months * 30, unit="D"),
        "label": np.where(leaves, "leaves", "stays"),
    }
    return pd.DataFrame(columns)


if __name__ == "__main__":
    source, how = wn.open(customers(600, 0)), {"recipe": wn.Recipe(epochs=8), "engine": wn.Local(workers=1)}
    for name, column in source.origin["encoding"]["columns"].items():
        print(f"{name}: {column['kind']}, {len(column['features'])} features, {column.get('missing', 0)} missing")
    print(wn.check(source, folds=2, **how).summary())
    # The test set is encoded as the training set was: nothing is fitted to it.
    proof = wn.prune_with_proof(source, keep=0.5, test=customers(300, 1), proof_seeds=2, **how)
    print(proof.study.table())
    trees = {"model": "sklearn:HistGradientBoostingClassifier", "engine": wn.Local(workers=1)}
    print(wn.prune_with_proof(source, keep=0.5, test=customers(300, 1), proof_seeds=2, **trees).study.table())
