from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from tests.signals.small import digits
from winnow.core.errors import InputError
from winnow.engines import Local
from winnow.signals.ensemble import memberships


@pytest.mark.parametrize(("n", "models"), [(10, 10), (57, 10), (100, 30)])
def test_every_example_is_left_out_by_three_models_of_each_ten(n: int, models: int) -> None:
    member = memberships(np.arange(n), models, 0)
    assert member.shape == (models, n)
    left_out = 1 - member.reshape(models // 10, 10, n).astype(int)
    assert (left_out.sum(1) == 3).all()
    share = member.mean(1)
    assert (np.abs(share - 0.7) <= 3 / n + 1e-9).all()  # folds of n / 10, rounded: exactly 70 % where ten divides n
    if n % 10 == 0:
        assert (member.sum(1) == 0.7 * n).all()


def test_blocks_and_seeds_draw_other_folds() -> None:
    member = memberships(np.arange(100), 20, 0)
    assert not np.array_equal(member[:10], member[10:])
    assert np.array_equal(member[:10], memberships(np.arange(100), 10, 0))
    assert not np.array_equal(member, memberships(np.arange(100), 20, 1))


@pytest.mark.parametrize(("n", "models", "words"), [(50, 15, "multiple of 10"), (50, 5, "models"), (9, 10, "examples")])
def test_what_cannot_be_divided_is_refused(n: int, models: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        memberships(np.arange(n), models, 0)


def test_models_know_what_they_saw_better_than_what_they_did_not() -> None:
    source = digits(100)
    seen = wn.observe(source, "mlp", wn.Recipe(epochs=20, batch=16), 1, "ensemble", engine=Local(workers=1)).canonical()
    member = seen.arrays["ensemble_member"].astype(bool)
    correct = seen.arrays["ensemble_correct"]
    assert np.array_equal(member, memberships(seen.ids, 10, 0).astype(bool))
    assert set(np.unique(correct)) == {0, 1}
    assert correct[member].mean() > 0.95
    assert 0.3 < correct[~member].mean() < 0.9
