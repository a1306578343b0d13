import numpy as np
import pytest
import torch
from studies.lpntk import companions
from studies.lpntk.companions import ANY, COSINE, OWN, SORTS, Seen, Sizes, choice, compared, described, judged, tabled
from studies.lpntk.trainings import Plan
from studies.parts import Asked
from studies.shelf import Shelf


def blocks(data, size, *names):
    """Noise with a bright block whose place is the class, in place of images from a file."""
    rng = np.random.default_rng([size, names[-1]])
    labels = np.arange(size) % 10
    x = rng.normal(0, 1, (size, 1, 28, 28)).astype(np.float32)
    for i, label in enumerate(labels):
        x[i, 0, 5 * (label // 5) : 5 * (label // 5) + 6, 5 * (label % 5) : 5 * (label % 5) + 6] += 2
    return torch.from_numpy(x), labels


@pytest.fixture
def seen():
    """Two classes of ten; 0 and 10 are targets; the last four of each class are in tail clusters."""
    labels = np.repeat([0, 1], 10)
    falling = np.arange(20, 0, -1.0)
    kernel = np.stack([falling, np.roll(falling, 10)])
    kernel[0, 9] = 19.5  # of a tail cluster, and yet similar
    lengths = np.ones(20)
    lengths[1] = 40.0
    head = np.tile(np.arange(10) < 6, 2)
    return Seen(np.array([0, 10]), kernel, lengths, head), labels


def chosen(seen, group, sort, k=2):
    return choice(group, sort, *seen, k, np.random.default_rng(0))


def test_the_papers_three_sorts_come_from_head_edge_and_tail(seen):
    assert chosen(seen, OWN, "most").tolist() == [[1, 2], [11, 12]]
    assert chosen(seen, OWN, "medium").tolist() == [[4, 5], [14, 15]]
    assert chosen(seen, OWN, "least").tolist() == [[7, 8], [18, 19]]


def test_a_small_head_cluster_keeps_the_sorts_apart(seen):
    small = Seen(seen[0].targets, seen[0].kernel, seen[0].lengths, np.tile(np.arange(10) < 2, 2))
    sets = [set(chosen((small, seen[1]), OWN, sort).ravel()) for sort in ("most", "medium", "least")]
    assert len(set.union(*sets)) == sum(map(len, sets)) == 12


def test_over_all_classes_the_least_may_be_of_another(seen):
    least = chosen(seen, ANY, "least")
    assert set(least[0]) == {18, 19}
    assert set(seen[1][least[0]]) == {1}
    assert described(*seen, least[None])["own"] == 0.0


def test_cosine_forgets_the_length(seen):
    assert 1 in chosen(seen, OWN, "most")[0]
    assert chosen(seen, COSINE, "most")[0].tolist() == [9, 2]
    assert 1 in chosen(seen, COSINE, "least")[0]


@pytest.mark.parametrize(("group", "sort"), [(group, sort) for group, sorts in SORTS.items() for sort in sorts])
def test_no_example_twice_and_no_target(seen, group, sort):
    found = chosen(seen, group, sort, 3)
    assert found.shape == (2, 3)
    assert np.unique(found).size == 6
    assert not {0, 10} & set(found.ravel())
    if group != ANY:
        assert (seen[1][found] == [[0], [1]]).all()


def test_a_draw_keeps_losses_that_add_up():
    x, labels = blocks("", 120, 0)
    found = compared(x, labels, Sizes(120, 1, 0.1, 2, 2), Plan(0.1, 20, 3), 5)
    assert set(found) == {f"{group}: {sort}" for group, sorts in SORTS.items() for sort in sorts}
    for values in found.values():
        curves = np.array(values["curves"])
        assert curves.shape == (2, 3)
        assert curves.sum(1).mean() == pytest.approx(np.mean(values["targets"]))
    assert found[f"{OWN}: least"]["own"] == 1.0


def test_a_quick_run_is_kept_and_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(companions, "drawn", blocks)
    asked = Asked(Shelf(tmp_path, "lpntk companions"), tmp_path, ("mnist",), 2, True)
    first = companions.run(asked)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == 2
    assert companions.run(asked) == first
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")} == kept
    assert len(first.table) == 2 + sum(map(len, SORTS.values()))


def made(values, seeds=5):
    """Draws whose difficulties are those named, plus what a draw shares and a little noise."""
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(seeds):
        shared = rng.normal(0, 3)
        draw = {}
        for group, sorts in SORTS.items():
            for sort in sorts:
                targets = values[group][sort] + shared + rng.normal(0, 0.1, 10)
                own = float(group != ANY or sort == "most")
                curves = [[float(targets.mean())]]
                draw[f"{group}: {sort}"] = {
                    "curves": curves, "targets": targets.tolist(), "own": own, "cosine": 0.5, "length": 1.0
                }  # fmt: skip
        draws.append(draw)
    return {"mnist": draws}


AS_CLAIMED = {
    OWN: {"most": 5, "medium": 10, "least": 15, "random": 10},
    ANY: {"most": 5, "least": 25, "random": 15},
    COSINE: {"most": 5, "least": 15},
}


def test_what_is_as_claimed_holds():
    own, whole, cosine, random, caveat = judged(made(AS_CLAIMED))[1:]
    assert "a harder set as a whole" in caveat
    assert own.count("holds") == 3
    assert "not" not in own
    assert "50 of 50" in own
    assert "100% of the most" in whole
    assert "0% of the least" in whole
    assert "the effect remains, 0.5 times as large" in whole
    assert "holds" in cosine
    assert random.count("holds") == 2


def test_an_effect_of_class_alone_is_said_not_to_remain():
    values = {**AS_CLAIMED, OWN: dict.fromkeys(SORTS[OWN], 10)}
    own, whole, *_ = judged(made(values))[1:]
    assert "least over most: not settled" in own
    assert "does not remain" in whole


def test_the_reverse_is_said_to_be_so():
    values = {
        **AS_CLAIMED,
        OWN: {"most": 15, "medium": 10, "least": 5, "random": 10},
        ANY: dict.fromkeys(SORTS[ANY], 5),
    }
    own, whole, *_ = judged(made(values))[1:]
    assert own.count("the reverse is so") == 3
    assert "0 of 50" in own
    assert "no clear effect" in whole


def test_the_table_pairs_by_draw():
    row = next(line for line in tabled(made(AS_CLAIMED)) if "own class: least" in line).split("|")
    centre, half = map(float, row[4].split("±"))
    assert centre == pytest.approx(5, abs=0.15)
    assert half < 0.2
