"""Networks of transformers that are folders of files; the only file of the room that imports transformers, if asked.

`hf:PATH` names a folder with a `config.json`, a tokenizer and usually weights, as `save_pretrained` writes it.
`sentence:NAME` names such a folder too, or an installed package that carries one. Nothing is ever downloaded, and no
code of a folder is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..core.errors import DataError, InputError, MissingDependencyError, NotFoundError
from .identity import FOLDERS

__all__ = ["described_folder", "folder_of", "loaded_model", "loaded_tokenizer", "settings_file"]

READ = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin")  # files that decide what a folder gives
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
BLOCK = 1 << 20


def folder_of(name: str) -> Path:
    """Return the folder that `hf:PATH` or `sentence:NAME` stands for; raise if there is none."""
    word = next(prefix for prefix in FOLDERS if name.startswith(prefix))
    rest = name.removeprefix(word)
    if not rest:
        raise InputError(f"network {name!r} must name a folder after the colon, such as {word}models/bert.")
    place = Path(rest).expanduser()
    if not place.is_dir() and word == "sentence:":
        place = _in_package(rest) or place
    if not place.is_dir():
        or_package = " or an installed package that holds a model" if word == "sentence:" else ""
        raise NotFoundError(
            f"network {name!r} must name an existing folder{or_package}; there is no {rest}. Nothing is downloaded."
        )
    if not (place / "config.json").is_file():
        raise DataError(f"{place} is not a folder of transformers: it has no config.json.")
    return place


def _in_package(name: str) -> Path | None:
    """Return the folder of a model within an installed package, without importing the package."""
    try:
        spec = importlib.util.find_spec(name.replace("-", "_"))
    except (ImportError, ValueError, AttributeError):
        return None
    for root in map(Path, (spec and spec.submodule_search_locations) or ()):
        found = [place.parent for place in sorted(root.glob("**/config.json")) if any(_weights(place.parent))]
        if found:
            return found[0]
    return None


def _weights(place: Path) -> Iterator[Path]:
    for pattern in WEIGHTS:
        yield from place.glob(pattern)


def described_folder(name: str) -> str:
    """Return what identifies such a network: the name of its folder and the content of its files."""
    place = folder_of(name)
    files = sorted(
        {file for pattern in READ for file in place.glob(pattern)} | set(place.glob("1_Pooling/config.json"))
    )
    seen = tuple((str(file), (about := file.stat()).st_size, about.st_mtime_ns) for file in files)
    return f"{name.partition(':')[0]}:{place.name} {_digest(seen)}"


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[str, int, int], ...]) -> str:
    """Fingerprint of the content of files; sizes and times only spare reading them again."""
    digest = hashlib.blake2b(digest_size=16)
    for path, size, _ in files:
        digest.update(f"{Path(path).name} {size}\n".encode())
        with Path(path).open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def settings_file(place: Path, name: str) -> dict[str, Any]:
    """Read a JSON file of a folder; empty if there is none."""
    try:
        found = json.loads((place / name).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def loaded_model(kind: str, name: str, **options: Any) -> Any:
    """Return a network of a folder, with its weights if the folder has any, and otherwise drawn by torch.

    Parameters
    ----------
    kind
        The class of transformers that makes it, such as `AutoModel`.
    name
        `hf:PATH` or `sentence:NAME`.
    **options
        Settings that replace those of the folder, such as `num_labels`.
    """
    place, library = folder_of(name), _library(name)
    maker = getattr(library, kind)
    with _refused(name, place), _quiet(library):
        if any(_weights(place)):
            return maker.from_pretrained(place, local_files_only=True, ignore_mismatched_sizes=True, **options)
        config = library.AutoConfig.from_pretrained(place, local_files_only=True, **options)
        return maker.from_config(config)


def loaded_tokenizer(name: str) -> Any:
    """Return the tokenizer of a folder."""
    place, library = folder_of(name), _library(name)
    with _refused(name, place), _quiet(library):
        return library.AutoTokenizer.from_pretrained(place, local_files_only=True)


def _library(name: str) -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork
    try:
        import transformers
    except ImportError:
        raise MissingDependencyError.of("transformers", "hf", f"network {name!r}") from None
    return transformers


@contextmanager
def _refused(name: str, place: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, TypeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DataError(f"network {name!r} cannot be read from {place}: {why}.") from None


@contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Keep transformers from announcing new heads and progress, which are ours to say."""
    logs = library.utils.logging
    before, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        yield
    finally:
        logs.set_verbosity(before)
        if bars:
            logs.enable_progress_bar()
