"""Does pruning help where training starts from weights? Images, text, and what a pruned pretraining is worth.

    python -m studies.finetuning --out runs/finetuning --seeds 3 [--only images] [--publish docs/studies]

`images`: a ResNet-20 that starts from weights of CIFAR-10, on Fashion-MNIST. `text`: a small transformer, pretrained on
the spot without labels, on SST-2. `transfer`: networks pretrained on half of CIFAR-10, probed on Fashion-MNIST. All
finished trainings are kept in the run directory: kill it at any moment, the same command goes on.
"""

from __future__ import annotations

from winnow.core.progress import shown

from ..running import run

PARTS = ("images", "text", "transfer")


def main() -> None:
    run("finetuning", PARTS, (__doc__ or "").split("\n")[0])


if __name__ == "__main__":
    with shown():
        main()
