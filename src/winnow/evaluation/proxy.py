"""`proxy`: does a search over networks on a small set find what a search on the full data finds?

Every network of a space is trained on the full data and on each proxy set, seed by seed, by `evaluate`; `ProxyStudy`
analyses the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from ..artefacts import Source, Study, record
from ..artefacts.proxy_study import CHOOSE, FEWEST, JUDGE, ProxyStudy
from ..core.errors import DivergedError, InputError
from ..core.files import file_name, plain
from ..core.parameter_names import of
from ..core.progress import track
from ..core.request import Parameter, Retrainings, RunDirectory, Seed, request
from ..core.run import Run
from ..core.seeds import several
from ..engines.named import Where
from ..models import small_networks
from ..models.identity import describe, is_estimator, resolved
from ..sources.holdout import hold_out
from ..sources.openable import Data, TestData, test_sets
from ..training import hold
from ..training.estimators import check as check_estimator
from ..training.recipe import How, MatchIterations
from .evaluate import Subsets, evaluate, network_of
from .test_sets import exam, exams, overlap, trainable

__all__ = ["ProxyStudy", "proxy"]

Networks = Annotated[
    Sequence[str] | Mapping[str, Any] | None,
    Parameter(
        "A network, such as convnet:width=16; may be given several times; 36 small ones if not given.",
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
    costs: Mapping[str, Mapping[str, float]] | None = None,
    seed: Seed = 0,
    out: RunDirectory = None,
    engine: Where = None,
    **opening: Any,
) -> ProxyStudy:
    """Search a space of networks on small sets and on the full data, and compare the results.

    Parameters
    ----------
    source
        The full data that the subsets were chosen from: a Source, or anything that `wn.open` takes.
    subsets
        The proxy sets by name, as for `evaluate`: each a Subset, or one per seed.
    test
        Test data, split into two halves by id and class, independent of its order: `choose` ranks networks, `judge`
        measures them. Or a mapping with these two. If not given, the test split of data that have one
        and are named rather than opened.
    networks
        The space: names that `models.build` takes, or models by name, at least three; if not given,
        `models.small_networks()`.
    recipe
        How to train all of them.
    seeds
        The number of trainings of each network on each set, or their seeds. With one seed there is no noise ceiling.
    match_iterations
        0 trains on every set for the same epochs, 1 for the same number of steps; a proxy saves time only below 1.
    random
        Whether to add a random subset for each size, drawn per seed.
    seed
        Seed of everything random, together with `seeds`.
    out
        A run directory: each network has its study in a separate folder, so that a stopped search resumes, and one with
        more networks, seeds or subsets trains only what is missing.
    engine
        Where trainings run.
    costs
        The cost of finding each subset: seconds by stage, as for `evaluate`. Counted once for the whole search.
    **opening
        Keywords of `wn.open`, such as `labels=`.

    Returns
    -------
    ProxyStudy
        Rank correlations, the network each set would choose, and the time saved.

    Raises
    ------
    InputError
        If an argument is out of range, or there are fewer than three networks.
    DivergedError
        If a training diverges.

    Examples
    --------
    >>> import winnow as wn
    >>> source = wn.open("digits", limit=100)
    >>> found = wn.proxy(source, {"half": wn.Subset(source.ids[:50])}, test=wn.open("digits", split="test"), seeds=2,
    ...                  networks=["mlp:hidden=[4]", "mlp:hidden=[8]", "mlp:hidden=[16]"], recipe=wn.Recipe(epochs=2),
    ...                  engine=wn.Local(workers=1))
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
    for model in filter(is_estimator, space.values()):  # checked before any network is trained
        check_estimator(source, model, recipe=recipe, match_iterations=match_iterations, by_weight=False)
    settings = {
        **asked.settings(),
        "networks": {name: plain(describe(model)) for name, model in space.items()},
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
                    same_steps=False,  # a search on everything is no smaller set
                    seed=seed,
                    out=None if run.path is None else run.path / "networks" / file_name(name),
                    engine=asked.engine,
                    costs=costs,
                )
            except DivergedError as error:
                raise DivergedError(f"network {name!r} of proxy, {error}") from None
        inputs = next(iter(studies.values())).provenance["inputs"]
        found = ProxyStudy(studies, record("proxy", settings, inputs))
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
    """Return the networks by name, each built once so that a model that does not fit raises before any training."""
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
    return {name: network_of(source, resolved("networks", "proxy", model)) for name, model in found.items()}
