import numpy as np
import pytest
from studies.lpntk import networks
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


@pytest.mark.filterwarnings("ignore:model of evaluate is a torch module")
def test_quick_run_asks_every_network_and_goes_on(tmp_path, mnist, monkeypatch):
    asked = Asked(Shelf(tmp_path, "lpntk networks"), tmp_path, ("mnist",), 1, quick=True)
    part = networks.run(asked)
    assert [line.split(" | ")[1] for line in part.table[2:]] == list(networks.NAMES.values())
    assert "ResNet" not in "".join(part.verdict)  # its weights are not in this folder
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    assert networks.run(asked) == part


def test_the_authors_network_has_as_many_weights_as_they_say():
    assert sum(p.numel() for p in networks.authors().parameters()) == 1_199_882


def test_the_kernel_is_taken_at_the_best_epoch(mnist, monkeypatch):
    source = wn.open("mnist", limit=60)
    aside = wn.open("mnist").at(np.arange(60, 120))
    marks = iter([0.2, 0.9, 0.5])

    def predicted(network, feed, how):
        """As many right answers as the mark says."""
        said = np.zeros((len(feed), 10))
        labels = np.asarray(feed.targets)
        good = np.arange(len(feed)) < next(marks) * len(feed)
        said[np.arange(len(feed)), np.where(good, labels, (labels + 1) % 10)] = 1
        return said

    monkeypatch.setattr(networks, "predict", predicted)
    kept, epoch = networks.kernel_choice(source, aside, "lenet5", 3, 0)
    assert epoch == 2
    assert set(kept.tolist()) <= set(source.ids.tolist())
