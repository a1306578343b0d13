"""A self-supervised loop of your own, sped up: five lines marked `winnow`, of which one takes the place of a line."""

import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from torch import nn
from torch.nn.functional import cosine_similarity

import winnow as wn

images, labels = load_digits(return_X_y=True)
x = torch.from_numpy(images).float() / 16
source = wn.open(images, name="digits without labels")


def train(switch, steps=100):
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
    guess = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 64))
    optimizer = torch.optim.AdamW([*encoder.parameters(), *guess.parameters()], lr=1e-3)
    simsiam = lambda one, two: 1 - cosine_similarity(guess(one), two.detach()).mean()  # noqa: E731
    targets = wn.relabel.targets(source, encoder, dim=32)  # winnow: any prior; here the untrained encoder itself
    acc = wn.Accelerator(64, 32, planned_steps=100, switch=switch)  # winnow
    optimizer.add_param_group({"params": acc.parameters()})  # winnow: the head learns with the encoder
    for _ in range(steps):
        at = torch.randint(len(x), (128,))
        a, b = (encoder(x[at] + 0.2 * torch.randn(128, 64)) for _ in range(2))
        loss = acc.loss((a, b), targets.at(source.ids[at])) if acc.active else simsiam(a, b) + simsiam(b, a)  # winnow
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        acc.update(loss)  # winnow: counts the step, and switches to SimSiam when the targets are learned
    features = encoder.eval()(x).detach().numpy()
    return RidgeClassifier().fit(features[::2], labels[::2]).score(features[1::2], labels[1::2])


print(f"untrained: linear probe {train(0, steps=0):.3f}")
for name, switch in {"SimSiam": 0, "targets, then SimSiam": "adaptive", "targets only": None}.items():
    print(f"{name}: 100 steps, linear probe {train(switch):.3f}")
