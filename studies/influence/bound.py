"""Does retraining confirm the influence certificates? Leave-one-out, half removed, and forty random bounds.

    python -m studies.influence.bound [--only loo curve bound] [--problems 40]

    loo      2,000 Fashion-MNIST images, ten left out one at a time: predicted against actual change of the head
    curve    10,000 images, 650 parameters, 10 to 90 % removed by the solver, at random and by lowest norm: predicted
             and actual change, and the loss on test images beside that of the full head
    bound    random problems (size, features, classes, damping, bound), each pruned by bound and retrained

Prints Markdown. Test images are looked at to report the gap in loss, never to choose anything.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

import winnow as wn

DAMPING, COMPONENTS = 1e-3, 64
Floats = NDArray[np.float64]


def images(n: int, components: int = COMPONENTS) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Principal components and a column of ones: training and test features and labels."""
    train, test = wn.open("fashion-mnist"), wn.open("fashion-mnist", split="test")
    raw = [
        source.read(np.arange(size)).reshape(size, -1).astype(np.float64) / 255
        for source, size in ((train, n), (test, 10_000))
    ]
    centre = raw[0].mean(axis=0)
    axes = np.linalg.eigh((raw[0] - centre).T @ (raw[0] - centre))[1][:, : -components - 1 : -1]
    made = [(x - centre) @ axes for x in raw]
    scale = made[0][:, 0].std()
    features = [np.hstack([x / scale, np.ones((len(x), 1))]) for x in made]
    return features[0], np.asarray(train.labels[:n]), features[1], np.asarray(test.labels[:10_000])


def retrained(features: Floats, labels: NDArray[np.int64], damping: float, removed: object, start: Floats) -> Floats:
    """Theta after training on what is left."""
    kept = np.setdiff1d(np.arange(len(features)), removed)
    return wn.influence.fit_head(features[kept], labels[kept], damping, start=start, classes=start.shape[1]).theta


def loss_of(theta: Floats, features: Floats, labels: NDArray[np.int64]) -> float:
    z = features @ theta
    top = z.max(axis=1)
    return float((np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[np.arange(len(z)), labels]).mean())


def loo() -> None:
    features, labels, _, _ = images(2000)
    head = wn.influence.fit_head(features, labels, DAMPING)
    vectors = wn.influence.vectors(features, head.outputs, labels, DAMPING)
    print("\n| image | predicted | actual | difference of the vectors |\n|---|---|---|---|")
    for i in np.random.default_rng(0).permutation(2000)[:10]:
        actual = (retrained(features, labels, DAMPING, [i], head.theta) - head.theta).ravel()
        predicted = vectors[i] * 2000 / 1999
        off = np.linalg.norm(predicted - actual) / np.linalg.norm(actual)
        print(f"| {i} | {np.linalg.norm(predicted):.5f} | {np.linalg.norm(actual):.5f} | {off:.1%} |", flush=True)


def curve() -> None:
    features, labels, others, truth = images(10_000)
    head = wn.influence.fit_head(features, labels, DAMPING)
    vectors = wn.influence.vectors(features, head.outputs, labels, DAMPING)
    full = loss_of(head.theta, others, truth)
    order = {
        "lowest norm": np.argsort(vectors.norms, kind="stable"),
        "random": np.random.default_rng(0).permutation(10_000),
    }
    print(f"\ntest loss of the full head {full:.5f}\n")
    print("| removed | method | linear | newton | corrected | actual | curvature | test-loss gap |")
    print("|---|---|---|---|---|---|---|---|")
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        m = round(10_000 * share)
        for method in ("influence", "random", "lowest norm"):
            if method == "influence":
                out = wn.influence.prune_by_count(vectors, m)
                removed, about = out.removed, out.certificate
            else:
                removed = order[method][:m]
                about = wn.influence.certify(vectors, removed)
            theta = retrained(features, labels, DAMPING, removed, head.theta)
            print(
                f"| {share:.0%} | {method} | {about['linear']:.4f} | {about['newton']:.4f} | {about['corrected']:.4f} "
                f"| {np.linalg.norm(theta - head.theta):.4f} | {about['curvature']:.2f} "
                f"| {loss_of(theta, others, truth) - full:+.5f} |",
                flush=True,
            )


def bound(problems: int) -> None:
    held = nothing = 0
    used = []
    print("\n| problem | n | parameters | damping | epsilon | removed | corrected | actual | holds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for number in range(problems):
        draw = np.random.default_rng(number)
        n, q, classes = int(draw.integers(200, 2000)), int(draw.integers(3, 20)), int(draw.integers(2, 8))
        damping = float(10 ** draw.uniform(-4, -1))
        labels = draw.choice(classes, n, p=draw.dirichlet(np.full(classes, 5.0)))
        centres, spread = draw.normal(size=(classes, q)), np.exp(draw.normal(size=(1, q)))
        x = (centres[labels] + draw.normal(size=(n, q)) * np.exp(0.5 * draw.normal(size=(n, 1)))) * spread
        features = np.hstack([x, np.ones((n, 1))])
        head = wn.influence.fit_head(features, labels, damping, classes=classes)
        vectors = wn.influence.vectors(features, head.outputs, labels, damping)
        epsilon = float(np.linalg.norm(head.theta) * 10 ** draw.uniform(-2.5, -0.5))
        out = wn.influence.prune_by_bound(vectors, epsilon, n - 1, number, moves=100 * n)
        theta = retrained(features, labels, damping, out.removed, head.theta)
        actual = float(np.linalg.norm(theta - head.theta))
        held += actual <= epsilon
        nothing += out.removed.size == 0
        used.append(actual / epsilon)
        print(
            f"| {number} | {n} | {head.theta.size} | {damping:.1e} | {epsilon:.4f} | {out.removed.size / n:.0%} "
            f"| {out.certificate['corrected']:.4f} | {actual:.4f} | {'yes' if actual <= epsilon else 'NO'} |",
            flush=True,
        )
    print(
        f"\nconfirmed by retraining: {held} of {problems}; nothing removed in {nothing}; "
        f"median share of the bound used {np.median(used):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=("loo", "curve", "bound"), default=("loo", "curve", "bound"))
    parser.add_argument("--problems", type=int, default=40)
    asked = parser.parse_args()
    for part in asked.only:
        if part == "bound":
            bound(asked.problems)
        else:
            {"loo": loo, "curve": curve}[part]()


if __name__ == "__main__":
    main()
