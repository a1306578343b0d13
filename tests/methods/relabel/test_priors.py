"""Every kind of prior gives the representation one would compute by hand, on images as the prior wants them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import winnow as wn
from winnow.core.errors import InputError, NotFoundError, UnknownNameError
from winnow.methods.relabel import targets
from winnow.methods.relabel.priors import represent, understood


def pictures(n: int = 12, channels: int = 1, side: int = 8) -> wn.Source:
    images = np.random.default_rng(0).integers(0, 256, (n, channels, side, side), dtype=np.uint8)
    return wn.open(images, ids=np.random.default_rng(1).permutation(n))


def unit(source: wn.Source) -> torch.Tensor:
    """Images from 0 to 1 in canonical order."""
    return torch.from_numpy(source.read(source.order)).float() / 255


def body(channels: int = 1) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(channels, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


PLAIN = {"mean": [0.0], "std": [1.0]}


def test_a_network_with_a_head_gives_what_enters_it() -> None:
    source, trunk = pictures(), body()
    network = nn.Sequential(trunk, nn.Linear(6, 3)).train()
    found = represent(source, network, **PLAIN)
    with torch.no_grad():
        np.testing.assert_allclose(found, trunk.eval()(unit(source)), rtol=1e-5, atol=1e-6)
    assert network.training


def test_a_network_without_a_head_gives_its_output() -> None:
    source, trunk = pictures(), body()
    with torch.no_grad():
        wanted = trunk.eval()(unit(source)).numpy()
    np.testing.assert_allclose(represent(source, trunk, **PLAIN), wanted, rtol=1e-5, atol=1e-6)
    inside = nn.Sequential(nn.Linear(6, 6), nn.ReLU())  # a linear layer that is not the last word
    with torch.no_grad():
        wanted = inside(torch.from_numpy(wanted)).numpy()
    np.testing.assert_allclose(represent(source, nn.Sequential(trunk, inside), **PLAIN), wanted, rtol=1e-5, atol=1e-6)


def test_a_layer_by_name_and_the_output_by_no_name() -> None:
    source, network = pictures(), nn.Sequential(body(), nn.Linear(6, 3))
    assert represent(source, network, layer="0.0", **PLAIN).shape == (12, 6)
    with torch.no_grad():
        wanted = network.eval()(unit(source)).numpy()
    np.testing.assert_allclose(represent(source, network, layer="", **PLAIN), wanted, rtol=1e-5, atol=1e-6)


def test_a_bare_layer_gives_its_output() -> None:
    table = wn.open(np.random.default_rng(0).normal(size=(9, 3)))
    assert represent(table, nn.Linear(3, 2)).shape == (9, 2)


def test_grey_images_are_repeated_resized_and_scaled() -> None:
    source, network = pictures(), nn.Sequential(body(3), nn.Linear(6, 3))
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    found = represent(source, network, size=16, mean=mean, std=std, batch=5)
    x = nn.functional.interpolate(unit(source).repeat(1, 3, 1, 1), (16, 16), mode="bilinear", antialias=True)
    x = (x - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    with torch.no_grad():
        np.testing.assert_allclose(found, network[0].eval()(x), rtol=1e-4, atol=1e-5)


def test_scaling_is_measured_where_nothing_is_said() -> None:
    source, trunk = pictures(), body()
    x = unit(source)
    with torch.no_grad():
        wanted = trunk.eval()((x - x.mean()) / x.std(unbiased=False)).numpy()
    np.testing.assert_allclose(represent(source, trunk), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["resnet20", "timm:resnet10t", "torchvision:resnet18"])
def test_weights_decide_channels_and_classes(name: str, tmp_path: Path) -> None:
    source = pictures(4, side=32)  # grey and unlabelled; the weights are for three channels and seven classes
    trained = wn.models.build(name, classes=7, shape=(3, 32, 32), seed=5)
    save_file(trained.state_dict(), tmp_path / "w.safetensors")
    given = {"mean": [0.5] * 3, "std": [0.25] * 3}
    found = represent(source, name, weights=tmp_path / "w.safetensors", **given)
    np.testing.assert_array_equal(found, represent(source, trained, **given))
    if name.startswith("timm"):
        declared = {word: trained.pretrained_cfg[word] for word in ("mean", "std")}
        by_itself = represent(source, name, weights=tmp_path / "w.safetensors")
        np.testing.assert_array_equal(by_itself, represent(source, trained, **declared))


def test_a_random_prior_follows_its_seed_and_the_shape() -> None:
    source = pictures()
    known = understood("test", source, "random", seed=4)
    assert known.about["network"] == "convnet"
    first, again, other = (represent(source, "random", seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    assert first.shape == (12, known.width)


def test_stored_embeddings_by_row_and_by_id(tmp_path: Path) -> None:
    source = pictures()
    values = np.random.default_rng(2).normal(size=(12, 5))
    found = represent(source, values)
    np.testing.assert_array_equal(found, values[source.order].astype(np.float32))
    np.save(tmp_path / "rows.npy", values)
    np.testing.assert_array_equal(represent(source, str(tmp_path / "rows.npy")), found)
    np.testing.assert_array_equal(represent(source, torch.from_numpy(values)), found)
    signals = wn.embed(source)
    shuffled = signals.take(np.sort(source.ids)[::-1])
    np.testing.assert_array_equal(represent(source, shuffled), represent(source, signals))
    np.testing.assert_array_equal(represent(source, "raw"), represent(source, signals))
    shuffled.save(tmp_path / "signals.safetensors")
    np.testing.assert_array_equal(represent(source, tmp_path / "signals.safetensors"), represent(source, signals))
    part = wn.embed(source.at(np.arange(11)))
    with pytest.raises(InputError, match=r"the prior of represent has no example with id \d+ \(1 of 12 "):
        represent(source, part)


class Maps(nn.Module):
    def forward(self, x):
        return x[:, :, None]


class Pair(nn.Module):
    def forward(self, x):
        return x.flatten(1), x


class Holes(nn.Module):
    def forward(self, x):
        out = x.flatten(1).clone()
        out[x.flatten(1).sum(1) == x.flatten(1).sum(1).max()] = torch.nan
        return out


@pytest.mark.parametrize(
    ("prior", "how", "words"),
    [
        (Maps(), {}, r"must give one vector per example, .* shape \(2, d\) for 2; a Maps gave \(2, 1, 1, 8, 8\)"),
        (Pair(), {}, "must give one vector per example.*a Pair gave tuple"),
        (Holes(), {}, r"must give finite numbers; it gave NaN or infinity for example \d+ \(1 of 12 in its block\)"),
        (nn.Sequential(nn.Flatten(), nn.Linear(9, 2)), {}, r"a Sequential, cannot take examples of shape \(1, 8, 8\)"),
        (np.full((12, 2), np.nan), {}, "must give finite numbers"),
        (np.zeros((11, 2)), {}, r"must have 12 rows, one per example in the order of the source; got shape \(11, 2\)"),
        (np.zeros(12), {}, r"embeddings with one vector per example.*got ndarray of shape \(12,\)"),
        (3.5, {}, r"must be a torch module, the name of a network, or embeddings.*got float of shape \(\)"),
        (np.zeros((12, 2)), {"layer": "head"}, "layer of represent is only for a network"),
        (body(), {"weights": "w.safetensors"}, "are only for a named network"),
        ("random", {"weights": "w.safetensors"}, "contradict the prior 'random'"),
        (body(), {"mean": [0.0]}, "mean and std of represent must be given together"),
        (body(), {"mean": [0.0], "std": [0.0]}, "std of represent must be positive"),
        (body(3), {"mean": [0.0], "std": [1.0]}, "mean of represent must have 3 rows"),
        (body(), {"batch": 0}, "batch of represent must be a whole number of at least 1"),
        (body(), {"layer": "nowhere"}, "nowhere"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_prior_is_refused_in_a_sentence(prior: object, how: dict, words: str) -> None:
    with pytest.raises((InputError, LookupError), match=words):
        represent(pictures(), prior, **how)


def test_size_is_for_images_and_files_must_be_there() -> None:
    table = wn.open(np.random.default_rng(0).normal(size=(5, 3)))
    with pytest.raises(InputError, match="size of represent is for images only"):
        represent(table, "random", size=8)
    with pytest.raises(NotFoundError, match=r"there is no file nowhere.npy"):
        represent(table, "nowhere.npy")
    with pytest.raises(InputError, match="source of represent must be a Source"):
        represent(np.zeros((3, 2)), "random")


def test_weights_of_any_kind_are_told_apart_or_refused() -> None:
    class Half(nn.Module):
        def __init__(self, seed: int) -> None:
            super().__init__()
            torch.manual_seed(seed)
            self.inner = nn.Linear(5, 4).to(torch.bfloat16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x.to(torch.bfloat16))

    source = wn.open(np.random.default_rng(0).normal(size=(12, 5)))
    one, other = (targets(source, Half(seed), 2, layer="").provenance["parameters"]["weights"] for seed in (0, 1))
    assert one != other
    for empty in (nn.LazyLinear(4), nn.Linear(5, 4, device="meta")):
        with pytest.raises(InputError, match=r"weights of a \w+ must have values; weight has none yet"):
            targets(source, empty, 2)
    for change in ({"layer": 0}, {"layer": []}, {"seed": -1}, {"seed": 1.5}):
        with pytest.raises(InputError, match=f"{next(iter(change))} of relabel.targets must be"):
            targets(source, "random", 2, **change)
    for scale in (np.zeros(3), 1, ["whiten"]):
        with pytest.raises(UnknownNameError, match=r"scale of relabel.targets"):
            targets(source, "random", 2, scale)  # type: ignore[arg-type]


def test_an_untrained_network_of_a_library_is_noted() -> None:
    with pytest.warns(UserWarning, match="used untrained"):
        represent(pictures(2, side=32), "torchvision:resnet18")
