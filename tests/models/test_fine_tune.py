from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import nn

import winnow as wn
from winnow.models import FineTune, Frozen, build, identity
from winnow.models.identity import describe
from winnow.models.modes import train_mode
from winnow.training import Feed, Recipe, train

SHAPE = (3, 16, 16)
ONE = wn.Local(workers=1)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Weights of a ResNet-20 for seven classes of colour images."""
    trained = build("resnet20", classes=7, shape=SHAPE, seed=5)
    with torch.no_grad():
        for norm in (part for part in trained.modules() if isinstance(part, nn.BatchNorm2d)):
            norm.running_mean.normal_()
    save_file(trained.state_dict(), tmp_path / "weights.safetensors")
    return tmp_path / "weights.safetensors"


def state(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_a_named_network_starts_from_a_file_with_a_new_head_per_seed(weights: Path) -> None:
    trained = build("resnet20", classes=7, shape=SHAPE, seed=5, weights=weights).state_dict()
    first, again, other = (
        state(build(FineTune("resnet20", weights), classes=4, shape=SHAPE, seed=seed)) for seed in (1, 1, 2)
    )
    for name, value in first.items():
        assert torch.equal(value, again[name])
        if not name.startswith("linear."):
            assert torch.equal(value, trained[name])
            assert torch.equal(value, other[name])
    assert first["linear.weight"].shape == (4, 64)
    assert not torch.equal(first["linear.weight"], other["linear.weight"])


def test_a_kept_head_is_that_of_the_file(weights: Path) -> None:
    kept = build(FineTune("resnet20", weights, head="keep"), classes=7, shape=SHAPE, seed=1)
    trained = build("resnet20", classes=7, shape=SHAPE, weights=weights).state_dict()
    assert all(torch.equal(value, trained[name]) for name, value in kept.state_dict().items())
    with pytest.raises(wn.errors.InputError, match=r"has shape \(7, 64\), the network needs \(4, 64\)"):
        build(FineTune("resnet20", weights, head="keep"), classes=4, shape=SHAPE)


def test_weights_for_colours_serve_grey_images_as_if_they_were_repeated(weights: Path) -> None:
    grey = build(FineTune("resnet20", weights, head="keep"), classes=7, shape=(1, 16, 16)).eval()
    colour = build("resnet20", classes=7, shape=SHAPE, weights=weights).eval()
    x = torch.randn(3, 1, 16, 16)
    with torch.no_grad():
        torch.testing.assert_close(grey(x), colour(x.expand(-1, 3, -1, -1)), rtol=1e-4, atol=1e-4)


def test_a_module_keeps_its_weights_and_gets_a_head_for_the_classes() -> None:
    module = build("convnet", classes=9, shape=SHAPE, width=4, seed=3)
    tuned = build(FineTune(module), classes=4, shape=SHAPE, seed=1)
    assert tuned.head.out_features == 4
    for name, value in tuned.state_dict().items():
        if not name.startswith("head."):
            assert torch.equal(value, module.state_dict()[name])
    assert module.head.out_features == 9  # it was copied


@pytest.mark.parametrize(
    ("encoder", "width"),
    [
        (lambda: nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU()), 6),
        (lambda: timm.create_model("vit_tiny_patch16_224", num_classes=0, img_size=16, depth=1), 192),
    ],
    ids=["maps", "timm"],
)
def test_a_network_without_a_head_gets_one(encoder: Any, width: int) -> None:
    module = encoder()
    tuned = build(FineTune(module, freeze="backbone"), classes=4, shape=SHAPE)
    assert tuned.head.in_features == width
    assert tuned(torch.zeros(2, *SHAPE)).shape == (2, 4)
    assert [name for name, value in tuned.named_parameters() if value.requires_grad] == ["head.weight", "head.bias"]


@pytest.mark.parametrize(
    ("freeze", "trained"),
    [
        ("backbone", {"linear"}),
        ("layer1", {"conv1", "bn1", "layer2", "layer3", "linear"}),
        (("conv1", "bn1", "layer1", "layer2"), {"layer3", "linear"}),
        (("linear",), {"conv1", "bn1", "layer1", "layer2", "layer3"}),
    ],
    ids=["backbone", "one", "most", "head"],
)
def test_frozen_layers_do_not_change_in_training_and_neither_do_their_statistics(
    weights: Path, freeze: Any, trained: set[str]
) -> None:
    source = wn.open((np.random.default_rng(0).integers(0, 256, (24, *SHAPE), dtype=np.uint8), [0, 1] * 12))
    network = build(FineTune("resnet20", weights, freeze=freeze), classes=2, shape=SHAPE)
    before = state(network)
    train(network, Feed(source), Recipe(epochs=2, batch=12), 0, after_epoch=lambda _epoch, model: model.eval())
    changed = {
        name.split(".")[0] for name, value in network.state_dict().items() if not torch.equal(value, before[name])
    }
    assert changed == trained


def test_train_mode_leaves_frozen_layers_in_eval_mode() -> None:
    network = nn.Sequential(
        nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, affine=False)), nn.Dropout(), nn.Linear(2, 1)
    )
    network[0].requires_grad_(False)
    train_mode(network)
    assert [part.training for part in (network[0], network[0][1], network[1], network[2])] == [False, False, True, True]


def test_evaluate_starts_from_the_weights(tmp_path: Path) -> None:
    source, test = wn.open("digits", limit=300), wn.open("digits", split="test", limit=100)
    trained = build("mlp", classes=10, shape=source.shape, seed=1)
    feed = Feed(source)
    train(trained, feed, Recipe(epochs=15), 0)
    save_file(trained.state_dict(), tmp_path / "mlp.safetensors")
    kept = FineTune("mlp", tmp_path / "mlp.safetensors", head="keep")
    how: dict[str, Any] = {"test": test, "recipe": Recipe(epochs=1, lr=1e-9), "seeds": 2, "engine": ONE}
    arms = {"half": wn.Subset(source.ids[:150])}
    from_there = wn.evaluate(source, arms, model=kept, **how)
    anew = wn.evaluate(source, arms, model=trained, **how)
    found = {name: {row["arm"]: row["accuracy"] for row in study.table()} for name, study in
             (("there", from_there), ("anew", anew))}  # fmt: skip
    assert found["there"]["full"] > 0.8  # a step of next to nothing leaves it as it was
    assert found["anew"]["full"] < 0.4
    assert from_there.provenance["parameters"]["model"]["weights"] == kept.digest


def test_the_same_network_with_other_weights_is_another_model(tmp_path: Path) -> None:
    for seed in (1, 2):
        save_file(build("mlp", classes=2, shape=(3,), seed=seed).state_dict(), tmp_path / f"{seed}.safetensors")
    one, same, other = (FineTune("mlp", tmp_path / f"{number}.safetensors") for number in (1, 1, 2))
    assert describe(one) == describe(same)
    assert describe(one) != describe(other)
    assert describe(one) != describe(FineTune("mlp", tmp_path / "1.safetensors", freeze="backbone"))
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    assert describe(first) == describe(second)
    assert describe(FineTune(first)) != describe(FineTune(second))
    assert describe(pickle.loads(pickle.dumps(one))) == describe(one)


def test_prune_takes_it() -> None:
    source = wn.open("digits", limit=120)
    tuned = FineTune(build("mlp", classes=10, shape=source.shape, seed=1), freeze="linear1")
    short = Recipe(epochs=2)
    subset = wn.prune(source, 0.5, model=tuned, recipe=short, veto=1, engine=ONE)
    assert len(subset) == 60
    assert subset.certificate["veto"]["pairs"] == 1


def test_a_frozen_model_is_a_linear_head_on_its_features_everywhere(tmp_path: Path) -> None:
    source, short = wn.open("digits", limit=200), Recipe(epochs=2)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU())
    frozen = Frozen(backbone)
    seen = wn.observe(source, frozen, short, engine=ONE)
    by_hand = wn.observe(source, "linear", short, embeddings=wn.embed(source, backbone), engine=ONE)
    np.testing.assert_allclose(seen.array("margins"), by_hand.array("margins"), rtol=1e-4, atol=1e-4)
    assert seen.provenance["parameters"]["model"]["fingerprint"] == frozen.fingerprint
    np.testing.assert_array_equal(wn.embed(source, frozen).embeddings, wn.embed(source, backbone).embeddings)
    subset = wn.prune(source, 0.5, model=frozen, recipe=short, veto=1, engine=ONE)
    assert subset.certificate["veto"]["pairs"] == 1
    assert len(wn.prune(source, tolerance=0.5, method="random", model=frozen, recipe=short, engine=ONE)) > 0
    proof = wn.prune_with_proof(
        source, 0.5, method="random", model=frozen, recipe=short, proof_seeds=2, out=tmp_path / "run", engine=ONE
    )
    assert proof.study is not None


def test_a_bare_module_is_said_once_to_be_trained_from_new_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_told", [])
    source, module, short = (
        wn.open("digits", limit=40),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 10)),
        Recipe(epochs=1),
    )
    with pytest.warns(
        UserWarning, match=r"model of observe is a torch module.*architecture.*wn.models.FineTune\(module\)"
    ):
        wn.observe(source, module, short)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wn.observe(source, module, short)
        monkeypatch.setattr(identity, "_told", [])
        wn.observe(source, FineTune(module), short)
        wn.observe(source, "mlp", short)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FineTune("mlp"), "weights of FineTune must be a file for network 'mlp'"),
        (lambda: FineTune(3), "model of FineTune must be the name of a network, a torch module or a function"),
        (lambda: FineTune(nn.Linear(2, 2), head="old"), "head of FineTune"),
        (lambda: FineTune(nn.Linear(2, 2), freeze=3), "freeze of FineTune must be 'backbone' or names of layers"),
        (lambda: FineTune(nn.Linear(2, 2), freeze=("",)), "freeze of FineTune must be 'backbone' or names of layers"),
        (
            lambda: build(FineTune(nn.Linear(2, 2), freeze="layr"), classes=2, shape=(2,)),
            "unknown layer in freeze of FineTune",
        ),
        (
            lambda: build(FineTune(nn.Linear(2, 2), freeze=("backbone", "head")), classes=2, shape=(2,)),
            "must leave something to train",
        ),
        (lambda: build(FineTune(nn.Linear(2, 3), head="keep"), classes=2, shape=(2,)), "must give 2 output"),
        (lambda: build(FineTune(nn.Linear(5, 3)), classes=2, shape=(2,)), r"cannot take examples of shape \(2,\)"),
        (lambda: build(Frozen(nn.Linear(2, 2)), classes=2, shape=(2,)), "a Frozen model is for embed, observe, prune"),
        (
            lambda: wn.observe("digits", Frozen(nn.Flatten()), Recipe(augment=("flip",)), limit=50),
            "augment of Recipe must be empty for a Frozen model of observe",
        ),
    ],
)
def test_bad_requests_are_refused(make: Any, words: str) -> None:
    with pytest.raises(wn.errors.WinnowError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
