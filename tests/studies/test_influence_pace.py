import numpy as np
import pytest
from studies.influence import arms, pace
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn


def asked(out):
    return Asked(Shelf(out / "pace", "influence pace"), out / "pace", ("mnist",), 1, quick=True)


def test_quick_run_follows_four_trainings_and_goes_on(tmp_path, mnist, monkeypatch):
    part = pace.run(asked(tmp_path))
    assert part.name == "time"
    lines = [line for line in part.table if line.startswith("| mnist")]
    assert len(lines) == len(pace.ARMS)
    monkeypatch.setattr(pace, "train", None)  # nothing may be trained again
    monkeypatch.setattr(wn, "observe", None)
    assert pace.run(asked(tmp_path)) == part


def test_a_training_is_followed_to_its_last_step(mnist):
    source, test = wn.open("mnist", limit=100), wn.open("mnist", split="test", limit=50)
    sizes = arms.Sizes(100, 1, 3, ("lenet5", None), ("convnet", 2))
    whole = pace.followed(source, None, test, sizes, 1)
    assert [steps for steps, _, _ in whole] == [4, 8, 12]  # 100 examples are four batches
    short = pace.followed(source, 6, test, sizes, 1)
    assert [steps for steps, _, _ in short] == [4, 6]
    assert all(0 <= accuracy <= 100 for _, _, accuracy in whole)
    seconds = [spent for _, spent, _ in whole]
    assert seconds == sorted(seconds)


def made_up(ours, choosing=30.0):
    """Three repeats with curves of two tests; everything ends at 90 %, ours at `ours`, give or take a little."""
    ends = {"everything": (100, 20.0, 90.0), "everything, short": (60, 12.0, 88.0), "random": (60, 12.0, 87.0)}
    cells = []
    for wobble in (-0.1, 0.0, 0.1):
        curves = {
            arm: [[steps // 2, seconds / 2, 70.0], [steps, seconds, end]] for arm, (steps, seconds, end) in ends.items()
        }
        curves["influence"] = [[30, 6.0, 80.0], [60, 12.0, ours + wobble]]
        cells.append({"curves": curves, "choosing": choosing})
    return {"blocks": cells}


def test_time_is_counted_with_and_without_choosing():
    text = "\n".join(pace.verdict(made_up(89.5)))
    assert "takes 0.60 (0.60 to 0.60) of the seconds" in text
    assert (
        "one training on ours takes 2.10 times the seconds of one on everything; choosing pays after 4 trainings"
        in text
    )


def test_claims_are_judged_by_their_intervals():
    held, lost, undecided = ("\n".join(pace.verdict(made_up(ours))) for ours in (89.5, 86.0, 88.7))
    assert "-0.50 ± 0.25 ▼ points, no more than 1.3 lost: holds" in held
    assert "+1.50 ± 0.25 ▲ against everything, short (better); +2.50 ± 0.25 ▲ against random (better)" in held
    assert "-4.00 ± 0.25 ▼ points, which is more than the paper's 1.3 lost: does not hold" in lost
    assert "against everything, short (worse)" in lost
    assert "not decided" in undecided


def test_table_says_when_accuracy_is_near():
    repeats = made_up(89.5)["blocks"]
    assert pace.reached(repeats, "everything") == [20.0] * 3
    assert pace.reached(repeats, "random") == [None] * 3
    text = "\n".join(pace.table({"blocks": repeats}))
    assert "| blocks | influence | 60 | 12.0 ± 0.0 | 30 | 89.50 ± 0.25 | -0.50 ± 0.25 ▼ | 12.0 in 3 of 3 |" in text
    assert "never in 3 |" in text


def test_figure_shows_ours_behind_its_choosing():
    (axis,) = pace.figure(made_up(89.5)).axes
    late = next(line for line in axis.lines if line.get_label() == "influence, after choosing")
    assert np.asarray(late.get_xdata()) == pytest.approx([36.0, 42.0])
