import pytest
from studies.influence import arms, pruning, transfer
from studies.influence.trainings import rows
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(out):
    return Asked(Shelf(out / "transfer", "influence transfer"), out / "transfer", ("mnist",), 1, quick=True)


def test_quick_run_takes_the_subsets_of_pruning_and_goes_on(tmp_path, mnist, monkeypatch):
    part = transfer.run(asked(tmp_path))
    lines = [line for line in part.table if line.startswith("| mnist")]
    assert len(lines) == 1 + len(transfer.SHARES) * len(transfer.METHODS)
    assert "convnet of width 2" in part.settings
    assert len(list((tmp_path / "chosen").rglob("*.json"))) == 1  # one choice for both parts
    monkeypatch.setattr(wn, "evaluate", None)  # nothing may be trained again, nor for pruning
    monkeypatch.setattr(wn, "observe", None)
    assert transfer.run(asked(tmp_path)) == part
    pruning.run(
        Asked(Shelf(tmp_path / "pruning", "influence pruning"), tmp_path / "pruning", ("mnist",), 1, quick=True)
    )


def made_up(gain):
    """Three repeats in which ours is above random by `gain`, give or take a little, and forgetting by 0.01."""

    def arm(accuracy, share):
        return {"accuracy": accuracy, "seconds": 10 * share, "steps": 100, "selection": 5.0}

    cells = []
    for wobble in (-0.001, 0.0, 0.001):
        values = {"random": 0.8, "forgetting": 0.81, "influence": 0.8 + gain + wobble}
        by_share = {method: {f"{s:g}": arm(value, s) for s in transfer.SHARES} for method, value in values.items()}
        cells.append({"full": {"accuracy": 0.9, "seconds": 10.0, "steps": 170}, "arms": by_share})
    return {"blocks": cells}


def said(second, first):
    found = made_up(second)
    return "\n".join(transfer.verdict(found, made_up(first), rows(found)))


def test_a_choice_that_carries_over_is_said_to():
    text = said(0.03, 0.03)
    assert text.count("+3.00 ± 0.25 ▲ points against random (better)") == 2
    assert text.count("+2.00 ± 0.25 ▲ against forgetting (better)") == 2
    assert text.count("less the first network's: +0.00 ± 0.00 (not told apart)") == 2


def test_a_choice_that_does_not_carry_over_is_said_not_to():
    text = said(-0.02, 0.04)
    assert text.count("-2.00 ± 0.25 ▼ points against random (worse)") == 2
    assert text.count("-6.00 ± 0.00 ▼ (it gains less)") == 2


def test_table_has_both_networks_and_figure_both_data_sets():
    found, own = made_up(0.03), made_up(0.01)
    text = "\n".join(transfer.table(found, own, rows(found)))
    assert (
        "| blocks | 60% | influence (ours) | 83.00 ± 0.25 | +3.00 ± 0.25 ▲ | -7.00 ± 0.25 ▼ | +1.00 ± 0.25 ▲ |" in text
    )
    both, of_both = {**found, "others": found["blocks"]}, {**own, "others": own["blocks"]}
    drawing = transfer.figure(of_both, rows(both), False)
    assert [axis.get_title(loc="left") for axis in drawing.axes] == ["blocks", "others"]
    names = [tick.get_text() for tick in drawing.axes[0].get_xticklabels()]
    assert names == ["LeNet-5", "convnet\nwidth 8"] * 2


@pytest.mark.parametrize("share", transfer.SHARES)
def test_shares_are_among_those_that_were_chosen(share):
    assert share in arms.KEPT
