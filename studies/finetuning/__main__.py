"""A subset chosen for, and evaluated with, a ResNet-20 that starts from weights of CIFAR-10, on Fashion-MNIST.

    WINNOW_DATA=DATA python -m studies.finetuning --out runs/finetuning --size 3000 --epochs 3 --seeds 3

Three students see the same examples: one that starts from the weights, one whose backbone is frozen (a linear probe),
and one that starts from nothing. Each gets a subset chosen for it, beside random subsets and everything for the same
steps. All sizes are flags; finished trainings are kept in the run directory.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import winnow as wn

NETWORK, WEIGHTS = "resnet20", "weights/cifar10-resnet20.safetensors"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.finetuning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", default="fashion-mnist", help="a name that wn.open takes")
    parser.add_argument("--weights", type=Path, default=Path(os.environ.get("WINNOW_DATA", ".")) / WEIGHTS)
    parser.add_argument("--size", type=int, default=3000, help="training examples")
    parser.add_argument("--test-size", type=int, default=2000)
    parser.add_argument("--keep", type=float, default=0.3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=("fine-tuned", "probe", "anew"))
    return parser.parse_args()


def students(weights: Path) -> dict[str, Any]:
    """The three students by name."""
    return {
        "fine-tuned": wn.models.FineTune(NETWORK, weights),
        "probe": wn.models.FineTune(NETWORK, weights, freeze="backbone"),
        "anew": NETWORK,
    }


def main() -> None:
    """Prune and prove for each student, and print the tables."""
    given = options()
    source = wn.open(given.data, limit=given.size)
    test = wn.open(given.data, split="test", limit=given.test_size)
    recipe = wn.Recipe(epochs=given.epochs, batch=64, lr=given.lr)
    for name, student in students(given.weights).items():
        if given.only is None or name in given.only:
            proof = wn.prune_with_proof(
                source,
                given.keep,
                test=test,
                model=student,
                recipe=recipe,
                proof_seeds=given.seeds,
                out=given.out / name,
                engine=wn.Local(workers=1),
            )
            assert proof.study is not None
            print(f"\n{name}: {proof.why}\n{proof.study.summary()}", flush=True)


if __name__ == "__main__":
    main()
