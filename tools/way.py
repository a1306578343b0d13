"""Which functions of winnow one image passes on its way through `prune`; run by `house` in a process of its own.

    python -m tools.way {subset,proof} FOLDER

A few dozen tiny images of two classes are written into FOLDER, and the whole run happens in this process (an engine
with one worker), so that no call is missed:

- `subset`: `wn.open(folder)` and `wn.prune(keep=0.5)` from Python, without a proof;
- `proof`: the command `winnow prune FOLDER --keep 0.5`, which retrains and writes the report.

Counted is each function or method whose code stands in a file of the package and that was called at least once, on
any thread, by file and qualified name: named functions only (no lambda, no comprehension, no body of a class), and
not what runs while a module is being imported, such as a registration. A module is on the way if one of its functions
is; its room is the top-level package or module that it belongs to (the package's own `__init__` is in none). Compiled
functions and the methods that `dataclass` writes run no line of a file and are not counted. Printed is one JSON
object with the three lists.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

IMAGES_PER_CLASS = 20
EPOCHS = 2


class Passed:
    """The code of the package that was called, apart from what ran during an import."""

    def __init__(self, package: Path) -> None:
        self.package = str(package) + os.sep
        self.codes: set[CodeType] = set()
        self.importing = threading.local()

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """Take note of a call; a profile function as `sys.setprofile` takes it."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if not code.co_filename.startswith(self.package):
            return
        if code.co_name == "<module>":
            self.importing.depth = getattr(self.importing, "depth", 0) + (1 if event == "call" else -1)
        elif event == "call" and code not in self.codes and not getattr(self.importing, "depth", 0):
            self.codes.add(code)

    def functions(self) -> list[str]:
        """`file:name` of each named function that was called."""
        named = (
            code for code in self.codes if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        )
        return sorted({f"{code.co_filename.removeprefix(self.package)}:{code.co_qualname}" for code in named})


def write_images(folder: Path) -> None:
    """Two classes of grey squares, dark and light, with noise."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for label, middle in (("dark", 80), ("light", 170)):
        (folder / label).mkdir(parents=True)
        for number in range(IMAGES_PER_CLASS):
            pixels = rng.normal(middle, 30, (12, 12)).clip(0, 255).astype("uint8")
            Image.fromarray(pixels).save(folder / label / f"{number}.png")


def one_worker() -> Any:
    """The engine that runs everything in this process, wherever it lives."""
    for home in ("winnow", "winnow.engines", "winnow.engine"):
        try:
            return importlib.import_module(home).Local(workers=1)
        except (ImportError, AttributeError):
            continue
    raise SystemExit("found no engine called Local")


def to_subset(images: Path, out: Path) -> None:
    """Prune from Python, without a proof."""
    import winnow as wn

    wn.prune(
        wn.open(str(images)), keep=0.5, seeds=1, recipe=wn.Recipe(epochs=EPOCHS), out=out / "run", engine=one_worker()
    )


def to_proof(images: Path, out: Path) -> None:
    """Prune from the command line, with the proof and the report."""
    from winnow.cli import main

    options = {"keep": 0.5, "epochs": EPOCHS, "seeds": 1, "proof-seeds": 2, "workers": 1, "out": out / "run"}
    words = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    try:
        main(["prune", str(images), *words])
    except SystemExit as end:
        if end.code:
            raise


WAYS: dict[str, Callable[[Path, Path], None]] = {"subset": to_subset, "proof": to_proof}


def main(which: str, folder: Path) -> None:
    """Walk the way and print what was passed."""
    import winnow

    write_images(folder / "images")
    passed = Passed(Path(winnow.__file__).resolve().parent)
    threading.setprofile(passed.watch)
    sys.setprofile(passed.watch)
    try:
        with redirect_stdout(io.StringIO()):
            WAYS[which](folder / "images", folder)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = passed.functions()
    modules = sorted({name.partition(":")[0] for name in functions})
    rooms = sorted(
        {room for module in modules if not (room := module.split("/")[0].removesuffix(".py")).startswith("_")}
    )
    print(json.dumps({"functions": functions, "modules": modules, "rooms": rooms}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
