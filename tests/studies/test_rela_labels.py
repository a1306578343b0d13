import numpy as np
import pytest
from studies.parts import Asked
from studies.rela import labels, labels_tables
from studies.shelf import Shelf

import winnow as wn
from winnow.artefacts.intervals import mean


def asked(out):
    return Asked(Shelf(out, "rela labels"), out, ("mnist",), 1, quick=True)


def test_quick_run_writes_the_part_and_goes_on(tmp_path, mnist, monkeypatch):
    out = tmp_path / "out"
    part = labels.run(asked(out))
    rows = [line for line in part.table if line.startswith("|")][2:]
    assert len(rows) == 2 * 3 + 1
    assert part.verdict[0].startswith("Paper:")
    assert "holds (" not in " ".join(part.verdict)  # one repeat decides nothing
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in out.glob("cells/*.json")}
    assert len(kept) == 1
    monkeypatch.setattr(wn, "evaluate", None)
    assert labels.run(asked(out)) == part
    assert {file: file.stat().st_mtime_ns for file in out.glob("cells/*.json")} == kept


def test_every_choice_takes_equally_many_of_each_class(mnist):
    source = wn.open("mnist", limit=200)
    found = labels.chosen(wn.embed(source), (1, 4), 0)
    for name, subset in found.items():
        counts = np.bincount(source.labels[subset.indices(source)], minlength=10)
        assert set(counts) == {int(name.split()[1])}
    assert set(labels.chosen(wn.embed(source), (1,), 1)["drawn 1"].ids) != set(found["drawn 1"].ids)


def test_the_prior_is_trained_on_other_images(mnist, tmp_path, monkeypatch):
    seen = {}
    real = labels.lenet
    monkeypatch.setattr(labels, "lenet", lambda rest, seed: seen.setdefault("rest", rest) and real(rest, seed))
    evaluate = wn.evaluate

    def watched(source, *args, **options):
        seen["pool"] = source
        return evaluate(source, *args, **options)

    monkeypatch.setattr(wn, "evaluate", watched)
    labels.run(asked(tmp_path / "out"))
    assert not set(seen["rest"].ids) & set(seen["pool"].ids)
    assert len(seen["rest"]) == labels.QUICK.prior


def cell(lift, drawn_lift, edge, noise):
    """A repeat in which soft labels add `lift` to chosen and `drawn_lift` to drawn images, and choosing adds `edge`."""
    arms = {}
    for n in (1, 10):
        for choice in labels_tables.CHOICES:
            hard = 0.4 + n / 100 + noise + (0 if choice == "drawn" else edge)
            arms[f"{choice} {n}"] = [hard, hard + (drawn_lift if choice == "drawn" else lift) + noise / 10]
    return {"prior": 0.9, "agreement": 0.95, "certain": 0.7, "prior_s": 9.0, "labels_s": 2.0, "full": 0.8, "arms": arms}


@pytest.mark.parametrize(
    ("lifts", "words"),
    [
        ((0.1, 0.1, 0.05), ["holds", "holds", "holds", "holds"]),
        ((0.1, -0.1, 0.05), ["holds", "does not hold", "holds", "holds"]),
        ((0.0, 0.1, 0.0), ["not decided", "holds", "not decided", "does not hold"]),
    ],
)
def test_the_verdict_follows_the_numbers(lifts, words):
    cells = {"fashion-mnist": [cell(*lifts, noise) for noise in (-0.01, 0.0, 0.01)]}
    lines = labels_tables.verdict(cells, (1, 10))[2:]
    assert [line.split(": ")[1].split(" (")[0] for line in lines] == words
    assert labels_tables.gain(cells["fashion-mnist"], "herding", 1).centre == pytest.approx(100 * lifts[0])
    assert "9 s on images outside" in labels_tables.verdict(cells, (1, 10))[1]
    assert "distillation" in labels_tables.verdict({"cifar10": cells["fashion-mnist"]}, (1, 10))[1]


def test_table_and_judgement_by_hand():
    cells = {"cifar10": [cell(0.1, 0.2, 0.0, noise) for noise in (-0.01, 0.01)]}
    lines = labels_tables.table(cells, (1, 10))
    assert lines[2].startswith("| CIFAR-10 | 1 | herding | 41.0 ± ")
    assert "| +" not in lines[2]
    assert lines[4].startswith("| CIFAR-10 | 1 | drawn (random) | 41.0")
    assert lines[-1].startswith("| CIFAR-10 | the whole pool | | 80.0 ± 0.0")
    assert labels_tables.judged([mean([1.0, 1.1]), mean([-5.0, 6.0])]).startswith("not decided (1 of 2")
