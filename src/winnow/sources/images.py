"""Images: decoding with Pillow, naming those that cannot be decoded, and resizing.

The form of a data set (grey or RGB, height, width) is that of its first readable image, taken from the header
without decoding. Later images are converted to that mode. An image of another size raises an error that names it,
unless a size was given, because silent stretching would change the data. Sixteen-bit and float images raise an error:
reducing them to bytes would lose most of their content.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, reason
from ..core.progress import track

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "ImageForm",
    "Name",
    "Resized",
    "UnreadableImageError",
    "decode",
    "first_form",
    "from_pillow",
    "readable",
    "said",
]

_GREY = ("L", "1")
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")
Name = str | Callable[[], str]  # a name, or a function that makes it, since most names are never used
NAMED = 5  # how many unreadable images a message names


class UnreadableImageError(DataError):
    """An image that cannot be decoded."""


@dataclass(frozen=True)
class ImageForm:
    """The form that every image of a source is converted to."""

    mode: str
    height: int
    width: int
    resize: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return (1 if self.mode == "L" else 3, self.height, self.width)


def said(name: Name) -> str:
    """Return the name, computed now if necessary."""
    return name if isinstance(name, str) else name()


def _opened(data: bytes | Path, name: Name, use: Callable[[Image], Any]) -> Any:
    """Apply `use` to the image, or raise an error that names it: a broken file can fail in many ways."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data) if isinstance(data, bytes) else data) as picture:
            if picture.mode in _DEEP:
                raise UnreadableImageError(
                    f"image {said(name)} has {picture.mode} pixels; winnow reads images with 8 "
                    "bits per channel, so convert it first."
                )
            return use(picture)
    except DataError:
        raise
    except (
        OSError,
        SyntaxError,
        ValueError,
        IndexError,
        OverflowError,
        EOFError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        unknown = isinstance(error, UnidentifiedImageError)  # whose text names a buffer or repeats the path
        why = "not an image in a known format" if unknown else reason(error)
        raise UnreadableImageError(f"image {said(name)} cannot be read: {why}.") from None


def first_form(images: Iterable[tuple[Name, bytes | Path]], owner: str, size: int | None) -> ImageForm:
    """Return the form of the first image whose header can be read."""
    problem, tried = "", 0
    for name, data in images:
        try:
            mode, width, height = _opened(data, name, lambda p: (p.mode, p.width, p.height))
        except UnreadableImageError as error:
            problem, tried = problem or str(error), tried + 1
            continue
        grey = "L" if mode in _GREY else "RGB"
        return ImageForm(grey, size or height, size or width, resize=size is not None)
    raise DataError(f"none of the {tried} images of {owner} can be read; the first: {problem}")


def decode(data: bytes | Path, form: ImageForm, name: Name) -> NDArray[np.uint8]:
    """One image as uint8 of shape (channels, height, width)."""
    try:
        pixels: NDArray[np.uint8] = _opened(data, name, lambda picture: _shaped(picture, form, name))
    except UnreadableImageError as error:
        words = f'{str(error).removesuffix(".")}; unreadable="skip" (--unreadable skip) leaves such images out.'
        raise UnreadableImageError(words) from None
    return pixels


def _shaped(picture: Image, form: ImageForm, name: Name) -> NDArray[np.uint8]:
    from PIL import Image

    if form.resize and picture.size != (form.width, form.height):
        picture.draft(form.mode, (form.width, form.height))  # lets JPEG decode at a fraction of its size
        picture = _in_mode(picture, form.mode).resize((form.width, form.height), Image.Resampling.BILINEAR)
    elif picture.size != (form.width, form.height):
        raise DataError(
            f"image {said(name)} is {picture.width} x {picture.height} pixels but the first image is "
            f"{form.width} x {form.height}; pass size= to resize all of them."
        )
    pixels = np.asarray(_in_mode(picture, form.mode), dtype=np.uint8)
    return pixels[None] if form.mode == "L" else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _in_mode(picture: Image, mode: str) -> Image:
    if picture.mode == mode:
        return picture
    if picture.mode == "P" and "transparency" in picture.info:
        picture = picture.convert("RGBA")
    return picture.convert(mode)


def from_pillow(picture: Image, name: str) -> NDArray[np.uint8]:
    """Convert a Pillow image in memory to uint8 of shape (channels, height, width)."""
    if picture.mode in _DEEP:
        raise DataError(f"image {said(name)} has {picture.mode} pixels; winnow reads images with 8 bits per channel.")
    form = ImageForm("L" if picture.mode in _GREY else "RGB", picture.height, picture.width, resize=False)
    return _shaped(picture, form, name)


def readable(
    images: Iterable[tuple[Name, bytes | Path]], form: ImageForm, total: int, owner: str
) -> tuple[NDArray[np.int64], dict[str, Any] | None]:
    """Decode every image once; return which can be read, and a record of the others, with a warning."""
    good: list[int] = []
    bad: list[str] = []
    for position, (name, data) in enumerate(track(images, "checking images", total)):
        try:
            decode(data, form, name)
        except UnreadableImageError:
            bad.append(said(name))
        else:
            good.append(position)
    if not good:
        raise DataError(f"none of the {total} images of {owner} can be read; the first is {bad[0]}.")
    if bad:
        warnings.warn(
            f"{len(bad)} of {total} images of {owner} cannot be read and were left out: {_few(bad)}.",
            UserWarning,
            stacklevel=2,
        )
    return np.array(good, dtype=np.int64), {"count": len(bad), "names": bad} if bad else None


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


@dataclass(frozen=True)
class Resized:
    """Reads through another reader and resizes its uint8 images."""

    read: Callable[[NDArray[np.int64]], NDArray[Any]]
    size: int

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        from PIL import Image

        found = self.read(positions)
        out = np.empty((*found.shape[:2], self.size, self.size), dtype=np.uint8)
        for row, image in enumerate(found):
            for channel, plane in enumerate(image):
                picture = Image.fromarray(np.ascontiguousarray(plane))
                out[row, channel] = picture.resize((self.size, self.size), Image.Resampling.BILINEAR)
        return out
