from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from winnow.artefacts.quotas import class_balance
from winnow.core.errors import InputError


def slow_balance(labels: list[int], n_classes: int) -> float:
    counts = [labels.count(k) for k in range(n_classes)]
    shares = [0.0 if min(a, b) == 0 else min(a, b) / max(a, b) for a, b in combinations(counts, 2)]
    return sum(shares) / len(shares)


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_mean_over_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 12))
    labels = rng.choice(classes, size=int(rng.integers(1, 60)), p=rng.dirichlet(np.full(classes, 0.5)))
    assert class_balance(labels, classes) == pytest.approx(slow_balance(labels.tolist(), classes), abs=1e-12)


def test_an_empty_class_counts_nothing_in_each_of_its_pairs() -> None:
    assert class_balance([0, 0, 1, 1], 3) == pytest.approx(1 / 3)
    assert class_balance([0, 0], 2) == 0
    assert class_balance([0, 0], 1) == 1


@pytest.mark.parametrize("label", [-1, 2])
def test_refuses_a_label_out_of_range(label: int) -> None:
    with pytest.raises(InputError, match="labels of class_balance"):
        class_balance([0, label], 2)
