"""proxy: does a search over networks on a small set find what a search on the full data finds?

Every network of a space is trained on the full data and on each proxy set, seed by seed, through `evaluate`; what is
made of the results is `ProxyStudy`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from ..artefacts import Source, Study, record
from ..artefacts.proxy_study import CHOOSE, FEWEST, JUDGE, ProxyStudy
from ..core.errors import DivergedError, InputError
from ..core.files import file_name, json_ready
from ..core.parameter_names import of
from ..core.progress import track
from ..core.request import Parameter, Retrainings, RunDirectory, Seed, request
from ..core.run import Run
from ..core.seeds import several
from ..engines.local import Where
from ..models import small_networks
from ..sources.holdout import hold_out
from ..sources.openable import Data, TestData, test_sets
from ..training import hold
from ..training.recipe import How, MatchIterations
from .estimators import check as check_estimator
from .estimators import describe, is_estimator
from .evaluate import Subsets, evaluate, network_of
from .test_sets import exam, exams, overlap, trainable

__all__ = ["ProxyStudy", "proxy"]

Networks = Annotated[
    Sequence[str] | Mapping[str, Any] | None,
    Parameter(
        "A network, such as convnet:width=16; 36 small ones if none is given.",
        plain=None,
        option="network",
        kind=list[str] | None,
    ),
]


def proxy(
    source: Data,
    subsets: Subsets,
    *,
    test: TestData = None,
    networks: Networks = None,
    recipe: How = None,
    seeds: Retrainings = 5,
    match_iterations: MatchIterations = 0.0,
    random: bool = True,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    costs: Mapping[str, Mapping[str, float]] | None = None,
    **opening: Any,
) -> ProxyStudy:
    """Search a space of networks on small sets and on the full data, and compare what is found.

    Parameters
    ----------
    source
        The full data that the subsets were chosen from: a Source, or anything that `wn.open` takes.
    subsets
        The proxy sets by name, as `evaluate` takes them: each a Subset, or one a seed.
    test
        Test data, divided in two halves by id and class, whatever its order: `choose` ranks networks, `judge` measures
        them. Or a mapping that gives these two. If not given, the test split of data that have one and are named
        rather than opened.
    networks
        The space: names that `models.build` takes, or models by name, at least three; `models.small_networks()` unless
        given.
    recipe
        How to train them all.
    seeds
        How many trainings of each network on each set, or their seeds. One seed has no noise ceiling.
    match_iterations
        0 trains on every set for the same epochs, 1 for the same number of steps; a proxy saves time below 1 only.
    random
        Whether to add a random subset for each size, drawn anew for each seed.
    seed
        Decides everything random together with `seeds`.
    out
        A run directory: each network has its study in a folder of its own, so that a search that was stopped goes on,
        and one with more networks, seeds or subsets trains only what is missing.
    engine
        Where trainings run.
    costs
        What each subset cost to find: seconds by stage, as for `evaluate`. Counted once for the whole search.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    ProxyStudy
        One study per network, and from them how alike the small sets and the full data rank the networks.

    Raises
    ------
    InputError
        If a parameter is not what is allowed, or a subset, network or test set does not fit the source.
    DivergedError
        If a training leaves the finite numbers.

    Examples
    --------
    >>> import winnow as wn
    >>> source = wn.open("digits", limit=100)
    >>> found = wn.proxy(source, {"half": wn.Subset(source.ids[:50])}, test=wn.open("digits", split="test"), seeds=2,
    ...                  networks=["mlp:hidden=[4]", "mlp:hidden=[8]", "mlp:hidden=[16]"], recipe=wn.Recipe(epochs=2))
    >>> [row["arm"] for row in found.table()]
    ['full', 'random@0.5', 'half']
    """
    asked = request(proxy, locals())
    source = trainable("proxy", asked.source)
    tests = _halves(source, test_sets(asked))
    space = _space(source, networks)
    numbers = several("proxy", seeds)
    if not isinstance(subsets, Mapping) or not subsets:
        raise InputError("subsets of proxy must be a mapping from names to Subsets, at least one.")
    if costs is not None and not isinstance(costs, Mapping):
        raise InputError(f"costs of proxy must map subsets to seconds by stage; got {type(costs).__name__}.")
    for model in filter(is_estimator, space.values()):  # before networks are trained that stand before it
        check_estimator(source, model, recipe=recipe, match_iterations=match_iterations, by_weight=False)
    settings = {
        **asked.settings(),
        "networks": {name: json_ready(describe(model)) for name, model in space.items()},
        "seeds": numbers,
    }
    prints = {name: found.fingerprint for name, found in tests.items()}
    held, exam_sets = hold(source), {name: hold(found) for name, found in tests.items()}
    studies: dict[str, Study] = {}
    with Run.opened(out, {"command": "proxy", **settings, "tests": prints}) as run:
        for name, model in track(list(space.items()), "networks"):
            try:
                studies[name] = evaluate(
                    held,
                    subsets,
                    test=exam_sets,
                    model=model,
                    recipe=recipe,
                    seeds=numbers,
                    match_iterations=match_iterations,
                    random=random,
                    seed=seed,
                    out=None if run.path is None else run.path / "networks" / file_name(name),
                    engine=asked.engine,
                    costs=costs,
                )
            except DivergedError as error:
                raise DivergedError(f"network {name!r} of proxy, {error}") from None
        inputs = next(iter(studies.values())).provenance["inputs"]
        found = ProxyStudy(studies, json_ready(record("proxy", settings, inputs)))
        return run.put("proxy", found, 0.0, key=found.provenance)


def _halves(source: Source, test: object) -> dict[str, Source]:
    if isinstance(test, Source):
        whole = exam("test", "proxy", source, test)
        return dict(zip((CHOOSE, JUDGE), hold_out(whole, 0.5, names=(CHOOSE, JUDGE)), strict=True))
    given = exams("proxy", source, test)
    if set(given) != {CHOOSE, JUDGE}:
        raise InputError(
            f"{of('test', 'proxy')} must be a Source, or {CHOOSE!r} and {JUDGE!r}; got {', '.join(given)}."
        )
    if given[CHOOSE].fingerprint == given[JUDGE].fingerprint:
        raise InputError(f"test sets {CHOOSE!r} and {JUDGE!r} of proxy must be different data; both are the same.")
    if common := overlap(given[CHOOSE], given[JUDGE]):
        raise InputError(
            f"test sets {CHOOSE!r} and {JUDGE!r} of proxy must share no example, or networks are judged by what chose "
            f"them; they share {common}."
        )
    return {name: given[name] for name in (CHOOSE, JUDGE)}


def _space(source: Source, networks: object) -> dict[str, Any]:
    """The networks by name, each built once so that one that does not fit is refused before any training."""
    if networks is None:
        networks = small_networks()
    if isinstance(networks, Mapping):
        found = dict(networks)
    elif isinstance(networks, Sequence) and not isinstance(networks, str):
        found = {name: name for name in networks if isinstance(name, str)}
        if len(found) != len(networks):
            raise InputError("networks of proxy must be names that differ, or a mapping from names to models.")
    else:
        raise InputError(f"networks of proxy must be a sequence of names or a mapping; got {type(networks).__name__}.")
    if any(not isinstance(name, str) or not name.strip() for name in found):
        raise InputError("names of the networks of proxy must be words.")
    if len(found) < FEWEST:
        raise InputError(
            f"{of('networks', 'proxy')} must be at least {FEWEST}, or there is no ranking; got {len(found)}."
        )
    return {name: model if is_estimator(model) else network_of(source, model) for name, model in found.items()}
