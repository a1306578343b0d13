import dataclasses

import numpy as np
import pytest
import torch
from studies.lpntk import difficulty
from studies.lpntk.difficulty import Setting, class_means, fall, further, judged, tabled
from studies.lpntk.trainings import Plan, together, trained
from studies.parts import Asked
from studies.shelf import Shelf

import winnow as wn

SIZES = (64, 16, 4, 1)


def blocks(data, size, *names):
    """Noise with a bright block whose place is the class, in place of images from a file."""
    rng = np.random.default_rng([size, names[-1]])
    labels = rng.integers(0, 10, size)
    x = rng.normal(0, 1, (size, 1, 28, 28)).astype(np.float32)
    for i, label in enumerate(labels):
        x[i, 0, 5 * (label // 5) : 5 * (label // 5) + 6, 5 * (label % 5) : 5 * (label % 5) + 6] += 2
    return torch.from_numpy(x), labels


def made(noises, rate=0.1, seeds=4):
    """A setting whose difficulties are one base with that much noise added at each size, noise upon noise."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        value = rng.normal(size=400)
        values = {str(SIZES[0]): value.tolist()}
        for size, noise in zip(SIZES[1:], noises, strict=True):
            value = value + noise * rng.normal(size=400)
            values[str(size)] = value.tolist()
        again = (np.asarray(values["64"]) + 0.1 * rng.normal(size=400)).tolist()
        labels = rng.integers(0, 10, 400).tolist()
        found.append(
            {"difficulty": values, "again": again, "labels": labels, "first": 2.3, "last": 0.1, "accuracy": 0.9}
        )
    return Setting("mnist", Plan(rate, 128, 2), found)


@pytest.mark.parametrize("size", [1, 4])
def test_networks_trained_together_are_those_trained_alone(size):
    x, labels = blocks("", 70 * size, 0)  # more sets than are trained at once
    x, y = x.reshape(70, size, 1, 28, 28), torch.from_numpy(labels).reshape(70, size)
    net, plan = wn.models.build("lenet5", classes=10, shape=(1, 28, 28), seed=3), Plan(0.1, 4, 5)
    before = [p.detach().clone() for p in net.parameters()]
    stacked = together(net, x, y, plan)
    for i in (0, 1, 69):
        alone, losses = trained(net, x[i], y[i], plan, seed=i)
        np.testing.assert_allclose(stacked[:, i], losses, rtol=1e-4, atol=1e-5)
        assert losses[-1].mean() < losses[0].mean()
        with torch.no_grad():
            after = torch.nn.functional.cross_entropy(alone(x[i]), y[i], reduction="none")
        np.testing.assert_allclose(losses[-1], after, rtol=1e-6)
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))


def test_sets_larger_than_a_batch_are_not_trained_together():
    x, labels = blocks("", 6, 0)
    net = wn.models.build("lenet5", classes=10, shape=(1, 28, 28), seed=0)
    with pytest.raises(ValueError, match="at most a batch, 2; these have 3"):
        together(net, x.reshape(2, 3, 1, 28, 28), torch.from_numpy(labels).reshape(2, 3), Plan(0.1, 2, 1))


def test_every_example_gets_the_loss_of_its_own_set():
    x, labels = blocks("", 12, 0)
    y, plan = torch.from_numpy(labels), Plan(0.1, 4, 3)
    net = wn.models.build("lenet5", classes=10, shape=(1, 28, 28), seed=0)
    sets = np.random.default_rng(0).permutation(12).reshape(3, 4)
    found = difficulty.split(net, x, y, plan, sets, 0)
    for members in sets:
        alone = trained(net, x[members], y[members], plan, 0)[1].sum(0)
        np.testing.assert_allclose(found[members], alone, rtol=1e-4)


def test_a_quick_run_is_kept_and_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(difficulty, "drawn", blocks)
    monkeypatch.setattr(difficulty, "LEARNED", 10.0)  # two epochs teach nothing
    asked = Asked(Shelf(tmp_path, "lpntk difficulty"), tmp_path, ("mnist", "other"), 2, True)
    first = difficulty.run(asked)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")}
    assert len(kept) == 3 * 2  # two settings on the first data set, one on the other, two seeds
    assert difficulty.run(dataclasses.replace(asked)) == first
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.json")} == kept
    assert len(first.figure.axes) == 3
    assert first.name == "difficulty"


def test_small_sets_are_not_trained_where_all_examples_teach_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(difficulty, "drawn", blocks)
    part = difficulty.run(Asked(Shelf(tmp_path, "lpntk difficulty"), tmp_path, ("mnist",), 1, True))
    assert part.figure is None
    assert part.table == []
    assert [line.split(":")[1].split(";")[0] for line in part.verdict[1:]] == [" cannot be tried here"] * 2


def test_a_falling_correlation_holds_and_a_rising_one_does_not():
    falling = made((0.5, 1, 2))
    assert fall(falling).startswith("holds")
    assert further(falling).endswith("in 6 of 6 steps.")
    swapped = made((0.5, 1, 2))
    for f in swapped.found:
        f["difficulty"]["16"], f["difficulty"]["1"] = f["difficulty"]["1"], f["difficulty"]["16"]
    assert fall(swapped).startswith("does not hold")
    assert "from 16 to 4" in fall(swapped)
    assert "and from 4 to 1" in fall(swapped)
    assert not further(swapped).endswith("in 6 of 6 steps.")


def test_a_fall_within_the_interval_is_not_settled():
    s = made((0.5, 1, 2))
    rhos = {16: [0.8, 0.81, 0.82], 4: [0.5, 0.52, 0.51], 1: [0.1, 0.55, 0.34]}
    fake = type("Fake", (), {"sizes": s.sizes, "between": lambda self, one, other: rhos[other]})()
    assert fall(fake).startswith("not settled")
    assert "4 to 1 (0.180 ±" in fall(fake)
    assert "16 to 4" not in fall(fake)


def test_table_and_words_say_what_the_numbers_are():
    s = made((0.5, 1, 2), rate=0.001)
    lines = tabled([s])
    pearson = next(line for line in lines if "Pearson |" in line).split("|")
    rho = np.mean([np.corrcoef(f["difficulty"]["64"], f["difficulty"]["4"])[0, 1] for f in s.found])
    assert float(pearson[4].split("±")[0]) == pytest.approx(rho, abs=6e-4)
    assert "| 0.214 | 0.070 | 0.031 |" in next(line for line in lines if "paper" in line)
    text = " ".join(judged([s]))
    assert "the ceiling" in text


def test_class_means():
    assert class_means([1.0, 2.0, 3.0, 5.0], [7, 7, 0, 0]).tolist() == [1.5, 1.5, 4.0, 4.0]
