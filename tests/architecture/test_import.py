"""What `import winnow` may load: nothing heavy, no extra; torch and its friends come when first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import winnow

HEAVY = ["torch", "numpy", "scipy", "sklearn", "pyarrow", "faiss", "numba", "matplotlib", "PIL", "typer", "jinja2"]
EXTRAS = [
    "torchvision",
    "timm",
    "lightly",
    "datasets",
    "ray",
    "transformers",
    "pytorch_lightning",
    "pandas",
    "polars",
    "skrub",
]


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    assert not loaded_by("import winnow") & {*HEAVY, *EXTRAS}


def test_working_on_arrays_loads_no_extra() -> None:
    work = (
        "import numpy as np, winnow as wn; "
        "s = wn.open((np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)); "
        "wn.select('random', wn.embed(s), keep=0.5)"
    )
    assert not loaded_by(work) & set(EXTRAS)


def test_a_plain_prune_loads_no_compiler_and_draws_nothing() -> None:
    work = (
        "import numpy as np, winnow as wn; "
        "s = wn.open((np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)); "
        "wn.prune(s, keep=0.5, method='el2n', recipe=wn.Recipe(epochs=1), engine=wn.Local(workers=1))"
    )
    unwanted = {"numba", "matplotlib", "scipy", "sklearn", "pyarrow", "faiss", "PIL", "jinja2", "joblib", *EXTRAS}
    found = loaded_by(work)
    assert "torch" in found
    assert not found & unwanted


def test_a_verb_that_writes_a_page_loads_no_plotting_before_it_draws() -> None:
    verbs = "import winnow as wn; wn.check, wn.prune_with_proof, wn.explain, wn.why, wn.audit"
    assert not loaded_by(verbs) & {"matplotlib", "PIL", "jinja2"}


def test_command_line_help_does_not_load_torch() -> None:
    assert "torch" not in loaded_by("import winnow.cli")


@pytest.mark.parametrize("name", winnow.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(winnow, name) is not None
    assert name in dir(winnow)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'prunne'"):
        winnow.prunne  # noqa: B018
