"""The linear probe: what a head can read from frozen features, and evaluate on a frozen backbone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import winnow as wn
from winnow.artefacts.ledger import ledger
from winnow.core.seeds import number
from winnow.engines import Local
from winnow.models import Frozen
from winnow.training import Recipe

from .blobs import blobs, line, shuffled

HERE = Local(workers=1)
TRAIN, TEST = blobs(90), blobs(60, seed=7, prefix="t")


def backbone(width: int = 6, seed: int = 0, inputs: int = 2) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Linear(inputs, width), torch.nn.Tanh())


class Blind(torch.nn.Module):
    """Sees nothing: features that do not depend on the example."""

    def forward(self, x: torch.Tensor) -> Any:
        return torch.ones(len(x), 6)


def quick(backbones: Any, **options: Any) -> wn.Study:
    return wn.probe(TRAIN, backbones, **{"test": TEST, "seeds": 2, "epochs": 20, "lr": 0.05, "engine": HERE, **options})


def test_features_that_tell_beat_features_that_do_not() -> None:
    study = quick({"sees": backbone(), "blind": Blind()})
    assert study.interval("sees").centre > 0.8
    assert study.interval("blind").centre < 0.5
    assert study.versus("sees", "blind").centre > 0.3
    assert [len(study.per_class("sees")), study.metric] == [3, "accuracy"]
    assert [row["arm"] for row in study.table()] == ["sees", "blind"]


def test_it_is_adam_on_standardised_features() -> None:
    """Against the same training written out: standardise by the training set, one linear layer, Adam, full batches."""
    net = backbone()
    study = quick({"one": net}, seeds=[3], epochs=25, batch=90)

    def rows(source: wn.Source) -> torch.Tensor:
        return torch.from_numpy(source.read(source.order))

    x, t = rows(TRAIN), rows(TEST)
    with torch.no_grad():
        mean, std = x.mean(0), x.std(0, correction=0)
        a, b = net((x - mean) / std), net((t - mean) / std)
        centre, spread = a.mean(0), a.std(0, correction=0)
        a, b = (a - centre) / spread, (b - centre) / spread
    first = number(0, "probe", "init", 3)
    head = wn.models.build(torch.nn.Linear(6, 3), classes=3, shape=(6,), seed=first)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    labels = torch.from_numpy(TRAIN.labels[TRAIN.order])
    for _ in range(25):
        loss = torch.nn.functional.cross_entropy(head(a), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    truth = torch.from_numpy(TEST.labels[TEST.order])
    wanted = torch.nn.functional.cross_entropy(head(b), truth).item()
    (got,) = study.of("one").values()
    assert got.loss == pytest.approx(wanted, rel=1e-4)
    assert got.value == (head(b).argmax(1) == truth).double().mean().item()


def test_the_scale_of_features_does_not_matter() -> None:
    net = backbone()
    small = torch.nn.Sequential(net, Times(1e-3))
    study = quick({"as it is": net, "small": small})
    for seed, outcome in study.of("as it is").items():
        assert study.of("small")[seed].loss == pytest.approx(outcome.loss, rel=1e-3)


class Times(torch.nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> Any:
        return self.factor * x


def test_the_backbone_is_left_alone_and_in_eval_mode() -> None:
    net = torch.nn.Sequential(backbone(), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.9)).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    study = quick({"a": net})
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert all(module.training for module in net.modules())
    assert study.interval("a").centre > 0.8  # dropout would have left a tenth of the features


def test_order_and_workers_change_nothing() -> None:
    one = quick({"a": backbone()})
    other = wn.probe(shuffled(TRAIN), {"a": backbone()}, test=TEST, seeds=2, epochs=20, lr=0.05, engine=HERE)
    assert [o.loss for o in one.outcomes] == [o.loss for o in other.outcomes]


def test_one_backbone_a_seed() -> None:
    nets = [backbone(seed=0), backbone(seed=1)]
    each = quick({"a": nets, "b": {0: nets[1], 1: nets[0]}})
    alone = quick({"first": nets[0], "second": nets[1]})
    assert each.of("a")[0].loss == alone.of("first")[0].loss
    assert each.of("a")[1].loss == alone.of("second")[1].loss
    assert each.of("b")[0].loss == alone.of("second")[0].loss


def test_other_ways_to_name_a_backbone() -> None:
    net = backbone()
    classifier = torch.nn.Sequential(net, torch.nn.Linear(6, 3))
    study = quick(
        {
            "module": net,
            "pretrained": SimpleNamespace(backbone=net),
            "layer": Frozen(classifier, layer="0"),
            "penultimate": Frozen(classifier, layer="penultimate"),
        }
    )
    losses = {arm.name: [o.loss for o in study.of(arm.name).values()] for arm in study.arms}
    assert len({tuple(values) for values in losses.values()}) == 1


def test_images_are_scaled_as_the_backbone_wants() -> None:
    rng = np.random.default_rng(0)
    images = wn.open((rng.integers(0, 255, (40, 3, 8, 8), dtype=np.uint8), np.arange(40) % 2))
    test = wn.open((rng.integers(0, 255, (30, 3, 8, 8), dtype=np.uint8), np.arange(30) % 2))
    seen: list[torch.Tensor] = []

    class Looks(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            seen.append(x)
            return x

    wn.probe(
        images, {"a": Frozen(Looks(), mean=(0.5,) * 3, std=(0.25,) * 3)}, test=test, seeds=1, epochs=1, engine=HERE
    )
    batch = next(x for x in seen if len(x) == 40)
    assert torch.allclose(batch, (torch.from_numpy(images.read(images.order)) / 255 - 0.5) / 0.25)


def test_regression_and_several_tests() -> None:
    source, far = line(80), line(50, seed=3, prefix="t")
    study = wn.probe(
        source,
        {"raw": torch.nn.Identity()},
        test={"near": line(40, seed=4, prefix="n"), "far": far},
        seeds=1,
        epochs=150,
        lr=0.03,
        engine=HERE,
    )
    assert (study.metric, study.tests) == ("r2", ("near", "far"))
    assert study.interval("raw", "far").centre > 0.95


def test_finished_heads_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = backbone()
    first = quick({"a": net}, out=tmp_path / "run")

    def never(*_: Any) -> None:
        raise AssertionError("features were computed again")

    monkeypatch.setattr(net, "forward", lambda x: torch.zeros(2, 6) if len(x) == 2 else never())
    again = quick({"a": net}, out=tmp_path / "run")
    assert again.outcomes == first.outcomes
    monkeypatch.undo()
    other = quick({"a": backbone(seed=5)}, out=tmp_path / "run")
    assert other.outcomes != first.outcomes  # other weights are another backbone
    assert wn.Study.load(tmp_path / "run" / "study").outcomes == other.outcomes


def test_costs_reach_the_ledger(tmp_path: Path) -> None:
    study = quick({"a": backbone(), "b": Blind()}, costs={"a": {"targets": 2.0, "pretrain": 30.0}})
    rows = {row["arm"]: row for row in ledger(study)}
    assert (rows["a"]["targets_s"], rows["a"]["pretrain_s"], rows["a"]["selection_s"]) == (2.0, 30.0, 32.0)
    assert np.isnan(rows["b"]["selection_s"])
    text = study.report(tmp_path / "report.html").read_text()
    assert "relabelling" in text
    assert "searching" not in text


def test_evaluate_on_a_frozen_backbone_is_evaluate_on_its_features() -> None:
    net = backbone()
    half = wn.Subset(TRAIN.ids[:45])
    recipe = Recipe(epochs=5, batch=32, lr=0.02)
    got = wn.evaluate(TRAIN, {"half": half}, test=TEST, model=Frozen(net), recipe=recipe, seeds=2, engine=HERE)
    x = torch.from_numpy(TRAIN.read(TRAIN.order))
    mean, std = x.mean(0), x.std(0, correction=0)

    def table(source: wn.Source) -> wn.Source:
        with torch.no_grad():
            rows = net((torch.from_numpy(source.read(np.arange(len(source)))) - mean) / std).numpy()
        return wn.open((rows, source.labels), ids=source.ids, classes=[0, 1, 2])

    same = wn.evaluate(
        table(TRAIN), {"half": half}, test=table(TEST), model=torch.nn.Linear(6, 3), recipe=recipe, seeds=2, engine=HERE
    )
    assert [o.loss for o in got.outcomes] == pytest.approx([o.loss for o in same.outcomes], rel=1e-4)
    assert got.provenance["parameters"]["model"]["fingerprint"] == Frozen(net).fingerprint


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"backbones": {}}, "backbones of probe must be a mapping"),
        ({"backbones": {"": backbone()}}, "names in backbones of probe must be words"),
        ({"backbones": {"a": "resnet"}}, "must be a torch module, or one a seed; got str"),
        ({"backbones": {"a": [backbone()]}}, "one module a seed, 2 in all; got 1"),
        ({"backbones": {"a": {0: backbone()}}}, "seed 1 has none"),
        ({"backbones": {"a": [backbone(), 3]}}, "must hold torch modules; got int"),
        ({"backbones": {"a": torch.nn.Flatten(0)}}, r"must give one vector per example.*got \(4,\) for 2"),
        ({"backbones": {"a": backbone(inputs=5)}}, r"cannot take examples of shape \(2,\)"),
        ({"backbones": {"a": Frozen(backbone(), layer="nine")}}, "layer of a Sequential"),
        ({"backbones": {"a": Times(float("nan"))}}, "NaN or infinite features for 90 example"),
        ({"epochs": 0}, "epochs of probe must be"),
        ({"lr": 0.0}, "lr of probe must be"),
        ({"costs": {"b": {}}}, "costs of probe name the arm 'b'"),
        ({"costs": {"a": {"guess": 1.0}}}, "costs of probe"),
        ({"source": wn.open(np.zeros((4, 2)))}, "has none"),
    ],
)
def test_refusals(change: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"source": TRAIN, "backbones": {"a": backbone()}, "test": TEST, "seeds": 2, "epochs": 1}
    given = {**given, "engine": HERE, **change}
    with pytest.raises(wn.errors.WinnowError, match=sentence):
        wn.probe(given.pop("source"), given.pop("backbones"), **given)


def test_evaluate_refuses_augmentation_of_frozen_features() -> None:
    rng = np.random.default_rng(0)
    images = wn.open((rng.integers(0, 255, (40, 1, 8, 8), dtype=np.uint8), np.arange(40) % 2))
    with pytest.raises(wn.errors.InputError, match="augment of Recipe must be empty for a Frozen model"):
        wn.evaluate(
            images, {}, test=images, model=Frozen(torch.nn.Flatten()), recipe=Recipe(augment=("flip",)), engine=HERE
        )


def test_one_backbone_seen_in_two_ways_is_two() -> None:
    """Seed 0 reads one layer and seed 1 another of the same module; each gets what it asked for."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    ways = [Frozen(net, layer="0"), Frozen(net, layer="1")]
    both = quick({"net": ways})
    for k, way in enumerate(ways):
        alone = quick({"net": way}, seeds=[k])
        assert both.of("net")[k].loss == alone.of("net")[k].loss
