"""`targets`: a prior run once over the data, its representations reduced to a few numbers an example.

The work is done a block of examples at a time. The representations of a block are written whole as soon as they are
there, so a run that was killed goes on behind its last block; principal components are then accumulated and projected
block by block. Held at any time: one block, a d x d matrix in float64 and, at the end, the n x dim targets in float32.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts import Source, record
from ...artefacts.targets import ROWS, Targets, header, refuse_zeros
from ...core import checks
from ...core.errors import InputError, StoreError, UnknownNameError
from ...core.files import atomic, fingerprint
from ...core.progress import track
from ...core.request import Parameter, Seed, request
from ...core.run import Run
from ...sources.openable import Data
from .pca import SCALES, Blocks, Projection, fit
from .priors import Prior, understood

__all__ = ["targets"]

OWNER = "relabel.targets"
WIDEST = 16_384  # numbers a representation may have: their covariance takes 2 GB


@dataclass(frozen=True, eq=False)
class _Block:
    """Representations of one block of examples, as a step of a run keeps them."""

    values: NDArray[Any]

    def save(self, path: str | Path) -> Path:
        with atomic(path) as part, part.open("wb") as file:
            np.save(file, self.values, allow_pickle=False)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> _Block:
        try:
            return cls(np.load(path, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read ({error}); remove it to have it made again.") from None


def channels(help: str, name: str) -> Parameter:
    """One number per channel; on the command line with commas between."""

    def read(text: str) -> list[float]:
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise InputError(f"--{name} must be numbers with commas between, one per channel; got {text!r}.") from None

    return Parameter(f"{help}, one number per channel, with commas.", kind=str | None, read=read)


def targets(
    source: Data,
    prior: Any,
    dim: int,
    scale: str | None = "whiten",
    *,
    layer: Annotated[
        str | None, Parameter("Layer whose output to take; what enters the last one if not given.")
    ] = None,
    weights: str | Path | None = None,
    size: Annotated[int | None, Parameter("Resize images to this many pixels per side for the prior.")] = None,
    mean: Annotated[Sequence[float] | None, channels("Mean the prior wants", "mean")] = None,
    std: Annotated[Sequence[float] | None, channels("Standard deviation it wants", "std")] = None,
    batch: Annotated[int, Parameter("Examples that go through the prior at a time.")] = 512,
    seed: Seed = 0,
    device: str = "auto",
    out: str | Path | None = None,
    **opening: Any,
) -> Targets:
    """Targets for every example from what a prior makes of it: ReLA-D of Sun et al. 2024.

    Parameters
    ----------
    source
        The examples, a Source or anything that `wn.open` takes; labels are not looked at.
    prior
        A torch module, used with the weights it has; the name of a network (`timm:NAME`, `torchvision:NAME` or one of
        winnow's); `random`, a freshly initialised network; `raw`, the inputs themselves; or embeddings made elsewhere:
        an array with a row an example in the order of the source, Signals, or a file of either.
    dim
        Numbers a target has: the widest principal components.
    scale
        `whiten` standardises each component; `standardize` divides the prior's coordinates by their standard deviations
        before projecting; None projects as it is.
    layer
        Name of the layer whose output to take; the empty name takes the module's own output. Unless given, what enters
        the last linear layer where that gives the output, and the output otherwise.
    weights
        File of weights for a named network; nothing is downloaded.
    size
        Pixels a side that images are resized to for the prior.
    mean, std
        How the prior wants its inputs scaled, one number a channel (images in 0 to 1). Unless given, as a network of
        timm with weights declares it, and otherwise measured on the source.
    batch
        Examples that go through the prior at a time.
    seed
        Of the weights of a random network.
    device
        Where to compute; `auto` takes a GPU if there is one.
    out
        The parquet file to write. Work in progress lies beside it, in a folder whose name ends in `.parts`, and goes
        when the file is there: the same call after a kill goes on, and once finished it loads the file.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Targets
        One vector per example, by id.

    Raises
    ------
    InputError
        If a parameter is not what is allowed, or the prior does not take the examples or tells none apart.
    UnknownNameError
        If the prior, or the scale, is not known.

    Examples
    --------
    >>> import winnow as wn
    >>> wn.relabel.targets(wn.open("digits"), "random", 16)
    Targets(1438 examples, 16 numbers each)
    """
    source = request(targets, locals(), OWNER).source
    if not isinstance(scale, str | None) or scale not in SCALES:
        raise UnknownNameError.of(f"scale of {OWNER}", scale, [str(one) for one in SCALES])
    how = {"layer": layer, "weights": weights, "size": size, "mean": mean, "std": std}
    file = _file(out)
    start = time.perf_counter()
    known = understood(OWNER, source, prior, **how, batch=batch, seed=seed, device=device)  # type: ignore[arg-type]
    _check_sizes(source, known, dim)
    asked = {**known.about, "dim": dim, "scale": scale}
    provenance = record(OWNER, asked, {"source": source.provenance})
    if file is not None and _finished(file, provenance):
        shutil.rmtree(_parts(file), ignore_errors=True)  # of a run killed between its last two steps
        return Targets.load(file)
    with _workplace(file) as run:
        run.spent("opening", time.perf_counter() - start)
        made = _made(source, known, dim, scale, run, provenance)
        if file is None:
            return made
        made.save(file)
    shutil.rmtree(_parts(file))
    return Targets.load(file)


def _check_sizes(source: Source, known: Prior, dim: int) -> None:
    if len(source) < 2:
        raise InputError(f"source of {OWNER} must have at least 2 examples to find directions in; got {len(source)}.")
    checks.integer("dim", OWNER, dim, low=1)
    if dim > known.width:
        raise InputError(
            f"dim of {OWNER} must be at most {known.width}, the numbers this prior gives an example; got {dim}."
        )
    if known.width > WIDEST:
        raise InputError(
            f"prior of {OWNER} must give at most {WIDEST:,} numbers an example, for their covariance to fit in memory; "
            f"this one gives {known.width:,}; name a narrower layer with layer=."
        )


def _made(source: Source, known: Prior, dim: int, scale: str | None, run: Run, provenance: dict[str, Any]) -> Targets:
    blocks = _blocks(source, known, run)
    start = time.perf_counter()
    projection = fit(blocks, dim, scale)
    if projection.rank == 0:
        raise InputError(f"prior of {OWNER} gives every example the same vector, so no target tells them apart.")
    ids = source.ids[source.order]
    values = _projected(blocks, projection, ids, run)
    run.spent("projecting", time.perf_counter() - start)
    measured = {"variance_kept": projection.kept, "directions": projection.rank}
    return Targets(ids, values, provenance | {"measured": measured}, run.seconds())


def _blocks(source: Source, known: Prior, run: Run) -> Blocks:
    """Run the prior over every block that is not there yet; what comes back reads them one at a time."""
    starts = range(0, len(source), ROWS)
    key = fingerprint(known.about, source.fingerprint, ROWS)

    def block(start: int) -> NDArray[Any]:
        stop = min(start + ROWS, len(source))
        if known.stored:
            return known.rows(start, stop)
        name = f"embeddings/{start // ROWS:06d}"
        return run.step(name, _Block, lambda: _Block(known.rows(start, stop)), key=key, file=f"{name}.npy").values

    for start in track(starts, "running the prior"):
        block(start)
    return lambda: map(block, starts)


def _projected(blocks: Blocks, projection: Projection, ids: NDArray[Any], run: Run) -> NDArray[np.float32]:
    """The targets, in a memory-mapped file of the run; it lives on without a name when the run's folder goes."""
    shape = (ids.size, projection.directions.shape[1])
    place = Path(run.path or "") / "values.npy"
    lasting: NDArray[np.float32] = np.lib.format.open_memmap(place, mode="w+", dtype=np.float32, shape=shape)
    done = 0
    for block in blocks():
        rows = projection(block).astype(np.float32)
        refuse_zeros(ids[done : done + len(rows)], rows)
        lasting[done : done + len(rows)] = rows
        done += len(rows)
    return lasting


def _file(out: str | Path | None) -> Path | None:
    if out is None:
        return None
    if not isinstance(out, str | Path) or Path(out).suffix != ".parquet":
        given = str(out) if isinstance(out, str | Path) else type(out).__name__
        raise InputError(f"out of {OWNER} must be a path that ends in .parquet; got {given}.")
    return Path(out)


def _parts(file: Path) -> Path:
    return file.with_name(f"{file.name}.parts")


def _finished(file: Path, provenance: dict[str, Any]) -> bool:
    """Whether the file holds what is asked for; one that is not of targets is never overwritten."""
    if not file.exists():
        return False
    found = header(file)["provenance"]
    return all(found.get(word) == provenance[word] for word in provenance)


@contextmanager
def _workplace(file: Path | None) -> Iterator[Run]:
    """A run beside the file that is to be, or one that goes when the work is done."""
    settings = {"command": "relabel"}
    if file is not None:
        with Run(_parts(file), settings, extend=True) as run:
            yield run
        return
    with tempfile.TemporaryDirectory(prefix="winnow-targets-") as place, Run(place, settings) as run:
        yield run
