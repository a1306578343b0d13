import numpy as np
import torch
from studies.influence import last_layers
from studies.influence.curve import METHODS, removed_from
from studies.influence.heads import DAMPING, Trained
from torch import nn

import winnow as wn


def head(repeat):
    """A small head through from_model, with images to judge it by."""
    rng = np.random.default_rng(repeat)
    centres = rng.normal(size=(3, 4))
    labels = np.arange(150) % 3
    x = centres[labels] + 0.8 * rng.normal(size=(150, 4))
    last = nn.Sequential(nn.Linear(4, 3)).double()
    vectors = wn.influence.from_model(last, "0", torch.from_numpy(x[:120]), labels[:120], DAMPING)
    ones = np.hstack([x, np.ones((150, 1))])
    fitted = wn.influence.fit_head(ones[:120], labels[:120], DAMPING, classes=3)
    return Trained(ones[:120], labels[:120], ones[120:], labels[120:], fitted, vectors)


def test_tables_and_verdicts_of_small_heads():
    cells = [removed_from(head(repeat), (0.5,), 2, repeat) for repeat in range(3)]
    assert set(cells[0]) == set(METHODS)
    found = {"small": cells}
    assert any(line.startswith("| small | 50% |") for line in last_layers.table(found))
    assert "small, 50% removed: change" in last_layers.verdict(found)[1]
    for cell in cells:  # cancelling influences move the head less than chance does
        assert cell["influence"]["0.5"][0]["actual"] < np.mean([one["actual"] for one in cell["random"]["0.5"]])
