import numpy as np
import torch
from studies.compression import batch_norm
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def test_quick_run_has_all_arms_and_goes_on(tmp_path, mnist, monkeypatch):
    asked = Asked(Shelf(tmp_path / "x", "compression x"), tmp_path / "x", ("mnist",), 2, quick=True)
    part = batch_norm.run(asked)
    assert part.table[0] == "| training | narrowed | no rule | random, counted | copies narrowed |"
    monkeypatch.setattr(wn, "narrow", None)  # nothing may be trained again
    assert batch_norm.run(asked) == part


def test_copies_compute_what_the_small_network_does():
    small = batch_norm.network(4, 1)
    wide = batch_norm.copied(small, 3)
    x = torch.randn(5, 1, 28, 28)
    torch.testing.assert_close(wide.train()(x), small.train()(x), rtol=1e-4, atol=1e-5)


def test_distances_are_those_to_the_wide_network():
    found = np.ones((2, len(batch_norm.ARMS), 3))
    found[:, 1] = np.e
    assert batch_norm.distances(found)["narrowed"].tolist() == [1.0, 1.0]
    assert batch_norm.distances(found)["no rule"].tolist() == [0.0, 0.0]
