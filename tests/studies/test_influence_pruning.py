import numpy as np
import pytest
from studies.influence import arms, pruning
from studies.influence.pruning import figure, table, verdict
from studies.influence.trainings import rows
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(out, seeds=1):
    return Asked(Shelf(out / "pruning", "influence pruning"), out / "pruning", ("mnist",), seeds, quick=True)


def test_quick_run_trains_on_every_subset_and_goes_on(tmp_path, mnist, monkeypatch):
    part = pruning.run(asked(tmp_path))
    lines = [line for line in part.table if line.startswith("| mnist")]
    assert len(lines) == 1 + len(arms.KEPT) * len(arms.METHODS)
    assert part.verdict[0].startswith("The paper:")
    assert "ours is better" not in "".join(part.verdict)  # one repeat decides nothing
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json")}
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again
    monkeypatch.setattr(wn, "observe", None)
    assert pruning.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json")} == kept


def test_every_method_keeps_as_many_of_each_class(tmp_path, mnist):
    drawn = arms.chosen(asked(tmp_path), "mnist", 0)
    labels = np.asarray(drawn.source.labels)
    each = arms.QUICK.images // 10
    assert np.bincount(labels).tolist() == [each] * 10
    different = set()
    for (method, share), subset in drawn.subsets.items():
        counts = np.bincount(labels[subset.indices(drawn.source)], minlength=10)
        assert counts.sum() == round(share * arms.QUICK.images)
        assert counts.max() - counts.min() <= 1, method
        different.add(subset.fingerprint)
    assert len(different) > len(drawn.subsets) / 2


def made_up(gains, repeats=3):
    """Repeats in which a method is above random by what `gains` says, give or take a little."""
    wobbles = np.linspace(-0.001, 0.001, repeats)

    def arm(method, share, wobble):
        accuracy = 0.8 + gains.get((method, share), gains.get(method, 0.0)) + wobble * (method != "random")
        return {
            "accuracy": accuracy,
            "seconds": 10 * share,
            "steps": 100,
            "selection": 0.0 if method == "random" else 9.0,
        }

    return {
        "blocks": [
            {
                "full": {"accuracy": 0.9, "seconds": 10.0, "steps": 170},
                "heads": {f"{share:g}": [0.2, 2.0] for share in arms.KEPT},
                "agreement": 0.75,
                "arms": {m: {f"{s:g}": arm(m, s, wobble) for s in arms.KEPT} for m in arms.METHODS},
            }
            for wobble in wobbles
        ]
    }


def said(gains):
    cells = made_up(gains)
    return verdict(cells, rows(cells))


def test_differences_are_paired_in_points_and_the_ledger_is_that_of_a_study():
    cells = made_up({"influence": 0.05})
    (row,) = (r for r in rows(cells) if r.method == "influence" and r.share == 0.4)
    assert row.random.centre == pytest.approx(5)
    assert row.random.half_width == pytest.approx(4.302653 * 0.1 / np.sqrt(3), rel=1e-5)
    assert row.full.centre == pytest.approx(-5)
    assert (row.selection, row.saved, row.pays_after) == (9.0, pytest.approx(6.0), 2)
    text = "\n".join(table(cells, rows(cells)))
    assert "| blocks | 40% | influence (ours) | 85.00 ± 0.25 | +5.00 ± 0.25 ▲ | -5.00 ± 0.25 ▼ | 9 | 2 |" in text
    assert "| blocks | 100% | everything | 90.00 ± 0.00 |" in text


def test_a_subset_that_saves_nothing_never_pays():
    cells = made_up({})
    for cell in cells["blocks"]:
        cell["full"]["seconds"] = 1.0
    assert {row.pays_after for row in rows(cells) if row.share == 0.6} == {None}
    assert "| never |" in "\n".join(table(cells, rows(cells)))


def test_claims_that_hold_are_said_to_hold():
    text = "\n".join(said({("influence", 0.6): 0.02, ("influence", 0.4): 0.03, ("influence", 0.2): 0.05}))
    assert text.count("(better)") == 3
    assert text.count("ours is better than random") == 3
    assert "less that at 60%: +3.00 ± 0.00 ▲ points; that it grows: holds" in text
    assert "0.10 at 60% kept" in text
    assert "with EL2N: 0.75" in text


def test_claims_that_fail_are_said_to_fail():
    text = "\n".join(
        said({("influence", 0.6): -0.01, ("influence", 0.4): 0.0, ("influence", 0.2): -0.05, "herding": 0.1})
    )
    assert text.count("(worse)") == 2
    assert text.count("(not told apart)") == 1
    assert "20% kept: ours is worse than random (-5.00 ± 0.25 ▼), herding (-15.00 ± 0.00 ▼)" in text
    assert "that it grows: does not hold" in text


def test_figure_has_a_panel_for_each_data_set():
    cells = {**made_up({}), "others": made_up({})["blocks"]}
    drawing = figure(cells, rows(cells))
    assert [axis.get_title(loc="left") for axis in drawing.axes] == ["blocks", "others"]
    assert {text.get_text() for text in drawing.axes[0].texts} >= {"influence (ours)", "random", "everything"}
