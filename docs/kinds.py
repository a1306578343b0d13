"""Kinds of data, and what can be done with each: `docs/kinds.md` and the tests that run every cell come from this list.

    python docs/kinds.py

writes the table of the page. To add a kind, add an entry to `KINDS`: how to make a little of it in a folder, how it is
opened, and what its export is called. `tests/docs/test_kinds.py` runs every cell; a cell that does not apply says why,
and the test sees to it that it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parent / "kinds.md"
MARKS = "<!-- kinds -->", "<!-- end of kinds -->"
VERBS = ("open", "check", "prune with proof", "explain", "export")
N = 240


@dataclass(frozen=True)
class Kind:
    """A kind of data.

    Parameters
    ----------
    name
        As in the first column of the table.
    make
        Makes a little of it in an empty folder; returns what `wn.open` takes.
    opened
        How it is opened, as a user writes it.
    options
        Keywords of `wn.open`.
    export
        The file or folder that it is exported to.
    without
        Verbs that do not apply, and why; instead of a proof there may be only a subset.
    """

    name: str
    make: Callable[[Path], Any]
    opened: str
    export: str | None
    options: dict[str, Any] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)


NO_PROOF = "the subset alone: nothing can be retrained without labels"
NO_CLASSES = "no: it relates classes"
UNLABELLED = {"prune with proof": NO_PROOF, "explain": NO_CLASSES}


def numbers() -> tuple[Any, Any]:
    """Two clouds of points."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    return (rng.normal(size=(N, 4)) + 1.5 * y[:, None]).astype(np.float32).round(4), y


def texts() -> tuple[list[str], list[str]]:
    """Short reviews, good and bad."""
    rng = np.random.default_rng(0)
    words = {"good": ["lovely", "moving", "clever", "superb"], "bad": ["dull", "clumsy", "tedious", "bland"]}
    things = ["film", "plot", "cast", "score", "script", "camera", "ending", "hero"]
    labels = [("bad", "good")[k % 2] for k in range(N)]
    made = []
    for number, label in enumerate(labels):
        (first, second), (one, two) = rng.choice(things, 2), rng.choice(words[label], 2)
        made.append(f"the {first} is {one} and the {second} {two} in scene {number}")
    return made, labels


def pictures() -> tuple[Any, Any]:
    """Grey images of 8 x 8 of two classes: handwritten zeros and ones."""
    from sklearn.datasets import load_digits

    found = load_digits()
    chosen = np.flatnonzero(found.target < 2)[:N]
    return np.round(found.images[chosen] * (255 / 16)).astype(np.uint8), found.target[chosen]


def frame(folder: Path) -> Any:
    """A data frame with a column that winnow does not read."""
    import pandas as pd

    x, y = numbers()
    given = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    given["note"] = [f"row {k}" for k in range(N)]
    return given.assign(label=np.where(y == 1, "yes", "no"))


def csv_file(folder: Path) -> Path:
    """The same as CSV."""
    frame(folder).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def parquet_file(folder: Path) -> Path:
    """The same as parquet."""
    frame(folder).to_parquet(folder / "rows.parquet", index=False)
    return folder / "rows.parquet"


def npz_file(folder: Path) -> Path:
    """Arrays in a file."""
    x, y = numbers()
    np.savez(folder / "rows.npz", X=x, y=y)
    return folder / "rows.npz"


def embeddings_file(folder: Path) -> Path:
    """Embeddings without labels."""
    np.save(folder / "embeddings.npy", numbers()[0])
    return folder / "embeddings.npy"


def image_folder(folder: Path) -> Path:
    """Images in one folder per class."""
    from PIL import Image

    for number, (image, label) in enumerate(zip(*pictures(), strict=True)):
        (folder / "photos" / f"class {label}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / "photos" / f"class {label}" / f"{number:03}.png")
    return folder / "photos"


def image_parquet(folder: Path) -> Path:
    """Encoded images in a column, as the Hugging Face hub stores them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = sorted((image_folder(folder)).rglob("*.png"))
    rows = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
    pq.write_table(pa.table({"image": rows, "label": [file.parent.name for file in files]}), folder / "images.parquet")
    return folder / "images.parquet"


def text_file(folder: Path) -> Path:
    """Reviews as JSON lines, with a column that winnow does not read."""
    lines = [
        json.dumps({"review": text, "stars": len(text) % 5, "label": label})
        for text, label in zip(*texts(), strict=True)
    ]
    (folder / "reviews.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "reviews.jsonl"


def text_folder(folder: Path) -> Path:
    """Reviews in one file each."""
    for number, (text, label) in enumerate(zip(*texts(), strict=True)):
        (folder / "reviews" / label).mkdir(parents=True, exist_ok=True)
        (folder / "reviews" / label / f"{number:03}.txt").write_text(text)
    return folder / "reviews"


def hf_dataset(folder: Path) -> Any:
    """A dataset of the `datasets` library."""
    import datasets

    made, labels = texts()
    return datasets.Dataset.from_dict({"text": made, "label": labels})


def torch_dataset(folder: Path) -> Any:
    """A map-style dataset of torch."""
    import torch

    return torch.utils.data.TensorDataset(*map(torch.as_tensor, numbers()))


def mixed_file(folder: Path) -> Path:
    """A table with strings, dates and missing values."""
    import pandas as pd

    rng = np.random.default_rng(1)
    x, y = numbers()
    given = pd.DataFrame({"amount": x[:, 0], "age": x[:, 1].astype(np.float64)})
    given.loc[rng.choice(N, 30, replace=False), "age"] = np.nan
    given["town"] = np.where(rng.random(N) < 0.2 + 0.5 * y, "Riga", "Oslo")
    given["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N), unit="D")
    given.assign(label=np.where(y == 1, "yes", "no")).to_csv(folder / "mixed.csv", index=False)
    return folder / "mixed.csv"


def vector_file(folder: Path) -> Path:
    """Embeddings as a column of lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    x, y = numbers()
    pq.write_table(pa.table({"embedding": x.tolist(), "label": y}), folder / "vectors.parquet")
    return folder / "vectors.parquet"


class Items:
    """A map-style dataset whose items are dictionaries."""

    def __init__(self) -> None:
        self.x, self.y = numbers()

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return {"input": self.x[position], "label": int(self.y[position])}


def tar_file(folder: Path) -> Path:
    """Images and labels as members of a tar file."""
    import io
    import tarfile

    with tarfile.open(folder / "shard-000.tar", "w") as shard:
        for file in sorted(image_folder(folder).rglob("*.png")):
            label = file.parent.name.split()[-1].encode()
            for ending, data in ((".png", file.read_bytes()), (".cls", label)):
                member = tarfile.TarInfo(f"{file.stem}{ending}")
                member.size = len(data)
                shard.addfile(member, io.BytesIO(data))
    return folder / "shard-000.tar"


def label_sets(folder: Path) -> tuple[Any, Any]:
    """Several labels per example."""
    x, y = numbers()
    held = zip(y == 1, x[:, 2] > 0, strict=True)
    return x, [[word for word, there in zip(("late", "high"), one, strict=True) if there] for one in held]


def regression(folder: Path) -> tuple[Any, Any]:
    """Numbers to predict."""
    x, _ = numbers()
    return x, (x[:, 0] - 0.5 * x[:, 1]).astype(np.float64)


KINDS = (
    Kind("arrays", lambda folder: numbers(), "wn.open((X, y))", "kept.npz"),
    Kind("npz file", npz_file, 'wn.open("rows.npz")', "kept.npz"),
    Kind("data frame", frame, 'wn.open(df, columns=["a", "b", "c", "d"])', "kept.csv", {"columns": list("abcd")}),
    Kind("CSV", csv_file, 'wn.open("rows.csv", columns=["a", "b", "c", "d"])', "kept.csv", {"columns": list("abcd")}),
    Kind("parquet", parquet_file, 'wn.open("rows.parquet", columns=[...])', "kept.parquet", {"columns": list("abcd")}),
    Kind("folder of images", image_folder, 'wn.open("photos/")', "kept"),
    Kind("images in parquet", image_parquet, 'wn.open("images.parquet")', "kept.parquet"),
    Kind("list of texts", lambda folder: texts(), "wn.open((texts, labels))", "kept.jsonl"),
    Kind("text in JSONL", text_file, 'wn.open("reviews.jsonl", text="review")', "kept.jsonl", {"text": "review"}),
    Kind("folder of texts", text_folder, 'wn.open("reviews/")', "kept"),
    Kind("HF dataset", hf_dataset, "wn.open(dataset)", "kept"),
    Kind("torch dataset", torch_dataset, "wn.open(dataset)", "kept.npz"),
    Kind("embeddings", lambda folder: numbers(), "wn.open((embeddings, y))", "kept.npz"),
    Kind("embeddings, unlabelled", embeddings_file, 'wn.open("embeddings.npy")', "kept.npy", {}, UNLABELLED),
    Kind("images, unlabelled", lambda folder: pictures()[0], "wn.open(images)", "kept.npz", {}, UNLABELLED),
    Kind("table with strings, dates, gaps", mixed_file, 'wn.open("mixed.csv")', "kept.csv"),
    Kind("embeddings in parquet", vector_file, 'wn.open("vectors.parquet")', "kept.parquet"),
    Kind("torch dataset of dictionaries", lambda folder: Items(), "wn.open(dataset)", "kept.npz"),
    Kind("WebDataset", tar_file, 'wn.open("shard-000.tar")', "kept.tar"),
    Kind("several labels per example", label_sets, "wn.open((X, lists))", "kept.npz", {}, {"explain": NO_CLASSES}),
    Kind("regression", regression, "wn.open((X, y)), y of floats", "kept.npz", {}, {"explain": NO_CLASSES}),
)


def table() -> str:
    """The table of the page."""
    lines = [f"| kind of data | {' | '.join(VERBS)} |", "|---" * (len(VERBS) + 1) + "|"]
    for kind in KINDS:
        cells = {"open": f"`{kind.opened}`", "export": f"`{kind.export}`"}
        words = [cells.get(verb, kind.without.get(verb, "yes")) for verb in VERBS]
        lines.append(f"| {kind.name} | {' | '.join(words)} |")
    return "\n".join(lines)


def page() -> str:
    """The page, with its table written anew."""
    text = PAGE.read_text()
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{table()}\n{MARKS[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(page())
