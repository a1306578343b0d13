"""`targets`: run a prior once over the data and reduce its representations to a few numbers per example.

The work is done in blocks of examples. The representations of a block are written as soon as they are complete, so a
killed run continues after its last block. Principal components are then accumulated and projected block by block.
Memory holds one block, a d x d matrix in float64 and, at the end, the n x dim targets in float32.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts import Source, record
from ...artefacts.targets import ROWS, EmbeddingBlock, Targets, refuse_zeros
from ...core import checks
from ...core.errors import InputError, StoreError, UnknownNameError
from ...core.files import file_digest, fingerprint, read_json, write_json
from ...core.layouts import parquet_header
from ...core.progress import track
from ...core.request import Parameter, Seed, request
from ...core.run import Run
from ...sources.openable import Data
from .pca import SCALES, Blocks, Projection, fit
from .priors import Prior, understood

__all__ = ["targets"]

OWNER = "relabel.targets"
WIDEST = 16_384  # largest dimension of a representation: its covariance takes 2 GB


def channels(help: str, name: str) -> Parameter:
    """One number per channel; on the command line with commas between."""

    def read(text: str) -> list[float]:
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise InputError(f"--{name} must be numbers with commas between, one per channel; got {text!r}.") from None

    return Parameter(f"{help}, one number per channel, separated by commas.", kind=str | None, read=read)


def targets(
    source: Data,
    prior: Any,
    dim: int,
    scale: str | None = "whiten",
    *,
    layer: Annotated[str | None, Parameter("Layer whose output to take; what enters the head if not given.")] = None,
    weights: str | Path | None = None,
    size: Annotated[int | None, Parameter("Resize images to this many pixels per side for the prior.")] = None,
    mean: Annotated[
        Sequence[float] | None, channels("Mean that the prior's inputs are normalised with", "mean")
    ] = None,
    std: Annotated[Sequence[float] | None, channels("Standard deviation for the same", "std")] = None,
    batch: Annotated[int, Parameter("Examples that go through the prior at a time.")] = 512,
    seed: Seed = 0,
    device: str = "auto",
    out: str | Path | None = None,
    **opening: Any,
) -> Targets:
    """Compute targets for every example from a prior's representations: ReLA-D of Sun et al. 2024.

    Parameters
    ----------
    source
        The examples, a Source or anything that `wn.open` takes; labels are not used.
    prior
        A torch module, used with its current weights; the name of a network (`timm:NAME`, `torchvision:NAME` or one of
        winnow's); `random`, a randomly initialised network; `raw`, the inputs themselves; or existing embeddings: an
        array with one row per example in the order of the source, Signals, or a file of either.
    dim
        The length of a target: the number of principal components.
    scale
        `whiten` standardises each component. `standardize` divides the prior's coordinates by their standard deviations
        and projects them on the directions of the undivided ones (Eq. 10 of the paper); `correlation` on their own.
        None projects without scaling.
    layer
        Name of the layer whose output to use; the empty name uses the module's own output. If not given, the input of
        the classification head, or the output of a network without one, as for `wn.embed`; what was taken is in the
        provenance, under `taken`.
    weights
        File of weights for a named network; nothing is downloaded.
    size
        Side in pixels to which images are resized for the prior.
    mean, std
        How the prior expects its inputs to be scaled, one number per channel (images in 0 to 1). If not given, as
        declared by a timm network with weights, and otherwise measured on the source.
    batch
        Examples per forward pass of the prior.
    seed
        Seed of the weights of a random network.
    device
        Where to compute; `auto` uses a GPU if there is one.
    out
        The parquet file to write; the seconds it took go into a file beside it that ends in `.cost.json`. Work in
        progress is stored next to it, in a folder whose name ends in `.parts`, which
        is removed when the file is complete. Repeating the call after a kill continues; once finished, it loads the
        file.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    Targets
        One vector per example, by id.

    Raises
    ------
    InputError
        If the prior does not give one finite vector per example, or an argument is out of range.
    UnknownNameError
        If there is no scale, network or layer of that name.
    NotFoundError
        If a file of embeddings does not exist.

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
        return _loaded(file)
    with _workplace(file) as run:
        run.spent("opening", time.perf_counter() - start)
        made = _made(source, known, dim, scale, run, provenance)
        if file is None:
            return made
        replace(made, seconds=0.0).save(file)  # so that the same work gives the same bytes
        about = {"seconds": made.seconds, "digest": file_digest(file)}
        write_json(_cost(file), {**about, "check": fingerprint(about)})
    shutil.rmtree(_parts(file))
    return _loaded(file)


def _cost(file: Path) -> Path:
    """The file with what it took to make the targets, and with the digest of their file."""
    return file.with_suffix(".cost.json")


def _loaded(file: Path) -> Targets:
    """The targets of a file, with what it took to make them, if that is known."""
    known = _known(file)
    return replace(Targets.load(file), seconds=known["seconds"]) if known else Targets.load(file)


def _known(file: Path) -> dict[str, Any]:
    """What is recorded about the file of targets; nothing if it was not, or the record is damaged."""
    try:
        found = read_json(_cost(file))
        check = found.pop("check")
    except (StoreError, AttributeError, KeyError, TypeError):
        return {}
    return found if check == fingerprint(found) else {}


def _check_sizes(source: Source, known: Prior, dim: int) -> None:
    if len(source) < 2:
        raise InputError(f"source of {OWNER} must have at least 2 examples to find directions; got {len(source)}.")
    checks.integer("dim", OWNER, dim, low=1)
    if dim > known.width:
        raise InputError(
            f"dim of {OWNER} must be at most {known.width}, the numbers this prior gives per example; got {dim}."
        )
    if known.width > WIDEST:
        raise InputError(
            f"prior of {OWNER} must give at most {WIDEST:,} numbers per example, to fit their covariance in memory; "
            f"this one gives {known.width:,}; name a narrower layer with layer=."
        )


def _made(source: Source, known: Prior, dim: int, scale: str | None, run: Run, provenance: dict[str, Any]) -> Targets:
    blocks = _blocks(source, known, run)
    start = time.perf_counter()
    projection = fit(blocks, dim, scale)
    if projection.rank == 0:
        raise InputError(f"prior of {OWNER} must give examples different vectors; this one gives all the same.")
    ids = source.ids[source.order]
    values = _projected(blocks, projection, ids, run)
    run.spent("projecting", time.perf_counter() - start)
    measured = {"variance_kept": projection.kept, "directions": projection.rank}
    return Targets(ids, values, provenance | {"measured": measured}, run.seconds())


def _blocks(source: Source, known: Prior, run: Run) -> Blocks:
    """Run the prior over every block that is not stored yet; the result reads them one at a time."""
    starts = range(0, len(source), ROWS)
    key = fingerprint(known.about, source.fingerprint, ROWS)

    def block(start: int) -> NDArray[Any]:
        stop = min(start + ROWS, len(source))
        if known.stored:
            return known.rows(start, stop)
        name = f"embeddings/{start // ROWS:06d}"
        return run.step(
            name, EmbeddingBlock, lambda: EmbeddingBlock(known.rows(start, stop)), key=key, file=f"{name}.safetensors"
        ).values

    for start in track(starts, "running the prior"):
        block(start)
    return lambda: map(block, starts)


def _projected(blocks: Blocks, projection: Projection, ids: NDArray[Any], run: Run) -> NDArray[np.float32]:
    """Write the targets to a memory-mapped file of the run, which stays readable after the run's folder is removed."""
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
    """Whether the file holds the requested targets; a file of anything else is never overwritten."""
    if not file.exists():
        return False
    if _cost(file).exists() and _known(file).get("digest") != file_digest(file):
        warnings.warn(f"{file} has changed since it was written; its targets are made again", stacklevel=4)
        return False
    found = parquet_header(file, Targets.saved_as)["provenance"]
    return all(found.get(word) == provenance[word] for word in provenance)


@contextmanager
def _workplace(file: Path | None) -> Iterator[Run]:
    """A run next to the output file, or a temporary one if there is no file."""
    settings = {"command": "relabel"}
    if file is not None:
        with Run(_parts(file), settings, extend=True) as run:
            yield run
        return
    with tempfile.TemporaryDirectory(prefix="winnow-targets-") as place, Run(place, settings) as run:
        yield run
