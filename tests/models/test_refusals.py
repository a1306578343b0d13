"""Bad input to models, each with a piece of the sentence it is answered with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from winnow.core.errors import WinnowError
from winnow.models import build, choose, feature_layer, features_of


class Loose(nn.Module):
    """Has a parameter that no reset_parameters knows of."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.ones(2))


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.spare = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def tied() -> nn.Module:
    layer = nn.Linear(2, 2)
    layer.cached = layer.weight * 2  # torch refuses to copy results of a computation
    return layer


def saved(folder: Path) -> Path:
    file = folder / "w.safetensors"
    save_file({"head.weight": torch.zeros(2, 3), "head.bias": torch.zeros(2)}, file)
    return file


def with_nan(folder: Path) -> Path:
    file = folder / "n.safetensors"
    save_file({"head.weight": torch.full((2, 3), torch.nan), "head.bias": torch.zeros(2)}, file)
    return file


def garbage(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_bytes(b"this is no file of weights")
    return file


def pickled(folder: Path) -> Path:
    file = folder / "p.pt"
    torch.save(nn.Linear(2, 2), file)  # a whole module would need code to be run
    return file


def listed(folder: Path) -> Path:
    file = folder / "l.pt"
    torch.save([1, 2], file)
    return file


LINEAR = {"classes": 2, "shape": (3,), "hidden": ()}
CASES: list[tuple[str, Callable[[Path], object], str]] = [
    ("unknown network", lambda _: build("lenet", classes=2), "unknown network 'lenet' (nearest: 'lenet5')"),
    ("unknown library", lambda _: build("keras:vgg", classes=2), "unknown network 'keras:vgg'"),
    ("unknown torchvision", lambda _: build("torchvision:resnet81", classes=2), "(nearest: 'torchvision:resnet"),
    ("unknown timm", lambda _: build("timm:resnet_18", classes=2), "(nearest: 'timm:resnet"),
    ("pretrained", lambda _: build("timm:resnet18", classes=2, pretrained=True), "would download"),
    ("bridge option", lambda _: build("torchvision:resnet18", classes=2, wings=2), "were refused by it"),
    ("timm option", lambda _: build("timm:resnet18", classes=2, wings=2), "were refused by it"),
    ("bridge flat shape", lambda _: build("timm:resnet18", classes=2, shape=(9,)), "(channels, height, width)"),
    (
        "bridge image too small",
        lambda _: build("torchvision:alexnet", classes=2, shape=(3, 16, 16)),
        "cannot take examples of shape (3, 16, 16)",
    ),
    ("not a model", lambda _: build(3, classes=2), "must be the name of a network, a torch module, or a function"),
    ("no classes", lambda _: build("mlp", classes=0), "classes of build must be a whole number of at least 1; got 0"),
    ("half a class", lambda _: build("mlp", classes=2.5), "classes of build must be a whole number"),
    ("shape as number", lambda _: build("mlp", classes=2, shape=28), "shape of build must be the shape of one"),
    ("empty shape", lambda _: build("mlp", classes=2, shape=()), "shape of build must be the shape of one example"),
    ("zero side", lambda _: build("mlp", classes=2, shape=(0,)), "shape of build must be a whole number"),
    ("auto without shape", lambda _: build("auto", classes=2), "shape of network 'auto' must be given"),
    ("lenet5 too small", lambda _: build("lenet5", classes=2, shape=(1, 8, 8)), "sides of at least 12; got (1,"),
    ("convnet flat", lambda _: build("convnet", classes=2, shape=(64,)), "(channels, height, width)"),
    ("resnet flat", lambda _: build("resnet20", classes=2, shape=(64,)), "(channels, height, width)"),
    ("unknown option", lambda _: build("mlp", classes=2, hiden=(3,)), "'hiden' (nearest: 'hidden')"),
    ("option of none", lambda _: build("lenet5", classes=2, width=3), "option of network 'lenet5'"),
    ("hidden of zero", lambda _: build("mlp", classes=2, hidden=(0,)), "hidden of network 'mlp'"),
    ("hidden a number", lambda _: build("mlp", classes=2, hidden=64), "must be a sequence of layer sizes; got 64"),
    ("width of zero", lambda _: build("convnet", classes=2, width=0), "width of network 'convnet'"),
    ("width of text", lambda _: build("resnet20", classes=2, width="a"), "width of network 'resnet20'"),
    ("negative seed", lambda _: build("mlp", classes=2, seed=-1), "seed of winnow must be a whole number"),
    ("unknown kind", lambda _: choose((3,), "sound"), "kind of choose"),
    ("loose parameter", lambda _: build(Loose(), classes=2), "1 of 3 parameters (the first: scale)"),
    ("lazy layer", lambda _: build(nn.LazyLinear(2), classes=2), "run one batch through it first"),
    ("uncopiable", lambda _: build(tied(), classes=2), "cannot be copied"),
    ("module with option", lambda _: build(nn.Linear(2, 2), classes=2, width=3), "only for named networks; got width"),
    ("module of other size", lambda _: build(nn.Linear(3, 5), classes=2, shape=(3,)), "must give 2 output(s)"),
    ("module of other input", lambda _: build(nn.Linear(4, 2), classes=2, shape=(3,)), "cannot take examples of"),
    ("factory with argument", lambda _: build(nn.Linear, classes=2), "must be callable without arguments"),
    ("factory of nothing", lambda _: build(lambda: None, classes=2), "must return a torch module"),
    ("no file", lambda d: build("mlp", **LINEAR, weights=d / "none.pt"), "there is no file"),
    ("weights a dict", lambda _: build("mlp", **LINEAR, weights={}), "must be the path of a file; got dict"),
    (
        "garbage safetensors",
        lambda d: build("mlp", **LINEAR, weights=garbage(d, "g.safetensors")),
        "is not a safetensors file",
    ),
    ("garbage torch", lambda d: build("mlp", **LINEAR, weights=garbage(d, "g.pt")), "neither safetensors nor a"),
    ("pickled module", lambda d: build("mlp", **LINEAR, weights=pickled(d)), "neither safetensors nor a torch file"),
    ("a list", lambda d: build("mlp", **LINEAR, weights=listed(d)), "must hold tensors by name"),
    ("other head", lambda d: build("mlp", classes=3, shape=(3,), hidden=(), weights=saved(d)), "head.weight in"),
    ("other network", lambda d: build("lenet5", classes=2, weights=saved(d)), "8 missing (the first: conv1.weight)"),
    ("weights of NaN", lambda d: build("mlp", **LINEAR, weights=with_nan(d)), "must be finite; head.weight in"),
    (
        "unknown layer",
        lambda _: features_of(build("lenet5", classes=2), torch.zeros(1, 1, 28, 28), "linear3"),
        "'linear3' (nearest: 'linear",
    ),
    ("no linear layer", lambda _: feature_layer(nn.ReLU()), "has no linear layer"),
    (
        "unused layer",
        lambda _: features_of(Unused(), torch.zeros(1, 2), "spare"),
        "layer 'spare' of a Unused was not used",
    ),
]


@pytest.mark.parametrize(("call", "fragment"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_in_one_sentence(call: Callable[[Path], object], fragment: str, tmp_path: Path) -> None:
    with pytest.raises(WinnowError) as caught:
        call(tmp_path)
    message = str(caught.value)
    assert fragment in message
    assert "\n" not in message
