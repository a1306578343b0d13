"""A digest of code: what Python runs counts, with what is called; words and places do not."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from winnow.core import code_digest as home
from winnow.core.code_digest import code_digest, said_value

PLAIN = """
    import math
    SCALE = 2.0
    TABLE = {"a": 1}

    def helper(x):
        return x * SCALE

    class Deep:
        size = 3
        def inner(self):
            return helper(self.size)

    def work(x):
        names = {"p", "q", "r", "s"}
        return [helper(one) for one in x], Deep().inner(), math.pi, TABLE["a"], x in {"p", "q", "r", "s"}
"""


def module_of(text: str, name: str = "a_users_file") -> ModuleType:
    made = ModuleType(name)
    made.__dict__["__builtins__"] = __builtins__
    sys.modules[name] = made
    exec(compile(textwrap.dedent(text), f"/somewhere/{name}.py", "exec"), vars(made))
    return made


def digest(text: str) -> str:
    return code_digest(module_of(text).work)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x * SCALE", "x + SCALE"),  # a function that it calls
        ("SCALE = 2.0", "SCALE = 3.0"),  # a constant of that one
        ('{"a": 1}', '{"a": 2}'),
        ("size = 3", "size = 4"),  # a class that it uses
        ("helper(self.size)", "helper(-self.size)"),
        ("math.pi", "math.e"),
        ("def helper(x):", "def helper(x, y=1):"),
        ('x in {"p"', 'x in {"o"'),
    ],
)
def test_what_is_run_counts(before: str, after: str) -> None:
    assert before in PLAIN
    assert digest(PLAIN.replace(before, after)) != digest(PLAIN)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def work(x):", 'def work(x):\n        """Words."""'),
        ("return x * SCALE", "# a comment\n        return x * SCALE"),
        ("    def helper", "\n\n\n    def helper"),
        ("import math", "import math\n    UNUSED = 7\n    def other(): return 1"),
    ],
)
def test_words_and_places_do_not(before: str, after: str) -> None:
    assert before in PLAIN
    one, two = digest(PLAIN), digest(PLAIN.replace(before, after))
    # A function without a docstring has None there.
    assert one == two or "Words" in after


def test_a_docstring_that_changes_changes_nothing() -> None:
    documented = PLAIN.replace("def work(x):", 'def work(x):\n        """Words."""')
    assert digest(documented) == digest(documented.replace("Words.", "Other words."))


def test_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(PLAIN))
    script = "import mine; from winnow.core.code_digest import code_digest; print(code_digest(mine.work))"
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([str(tmp_path), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_a_file_that_is_imported_when_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "imported_later.py"
    file.write_text("value = 1\n")
    work = module_of("def work():\n    from imported_later import value\n    return value\n").work
    before = code_digest(work)
    file.write_text("value = 2\n")
    assert code_digest(work) != before
    assert "imported_later" not in sys.modules


def test_wrapped_functions_are_looked_into() -> None:
    text = """
        import functools

        @functools.cache
        def kept(x):
            return x + 1

        class Lazy:
            @functools.cached_property
            def value(self):
                return kept(1)

        def work():
            return functools.partial(kept, 1)(), Lazy().value
    """
    assert digest(text) != digest(text.replace("x + 1", "x + 2"))
    assert digest(text) != digest(text.replace("kept(1)", "kept(3)"))
    work = module_of(text).work
    assert code_digest(functools.partial(work)) == code_digest(functools.partial(work))


def test_closures_and_methods() -> None:
    def made(step: Any) -> Any:
        return lambda x: step(x)

    def one(x: int) -> int:
        return x + 1

    def two(x: int) -> int:
        return x + 2

    assert code_digest(made(one)) == code_digest(made(one)) != code_digest(made(two))
    assert said_value(one) != said_value(two)
    assert said_value(frozenset("abc")) == said_value(frozenset("cba"))
    assert said_value((1, float("nan"))) == "(1, nan)"


def test_libraries_and_where_work_runs_are_left_out() -> None:
    from winnow.engines import Local
    from winnow.signals.observed_trainings import _observe_seed

    walk = home._Walk(_observe_seed.__module__)
    walk.follow(_observe_seed)
    modules = {one.split(":")[0] for one in walk.found}
    assert {"winnow.training.loop", "winnow.core.seeds", "winnow.models.build"} <= modules
    assert all(name.startswith("winnow.") for name in modules)
    assert not {"winnow.core.errors", "winnow.core.progress", Local.__module__} & modules
