"""Names that hide what they hold: used twice, gerunds, and small modules that serve one user.

The exemptions are the design's. `cli` mirrors its commands. A registered method or an artefact may bear the name of its
method or room. Callbacks are called alike for each framework. A name counts as used twice if two bearers are left.
"""

from __future__ import annotations

from collections import defaultdict

from .source_tree import Module, Package

__all__ = ["duplicate_classes", "duplicate_modules", "gerunds", "in_ing", "small_with_one_user"]

# Words in -ing that name a thing in this field, and the rooms and methods' packages that the design names.
NOUNS = {"embedding", "forgetting", "herding", "lightning", "ranking", "scaling", "setting", "string", "training"}
PACKAGES = {"checking", "explaining", "narrowing", "planning", "pruning", "testing", "training"}
SMALL = 40


def duplicate_modules(package: Package, *, exempt: bool = True) -> dict[str, list[str]]:
    """Names that several modules or packages bear, with who bears them."""
    found = defaultdict(list)
    for module in package.modules.values():
        if module.name and not (exempt and _may_share(module)):
            found[module.last_name].append(module.name)
    return _several(found)


def duplicate_classes(package: Package, *, exempt: bool = True) -> dict[str, list[str]]:
    """Names of public classes that several modules define at their top, with the modules."""
    found = defaultdict(list)
    for module in package.modules.values():
        for name in module.public_classes:
            if not (exempt and (module.room == "cli" or name.endswith("Callback"))):
                found[name].append(module.name)
    return _several(found)


def _several(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(bearers) for name, bearers in sorted(found.items()) if len(bearers) > 1}


def _may_share(module: Module) -> bool:
    artefact = module.room == "artefacts" and bool(module.public_classes)
    return module.room == "cli" or artefact or module.registers


def in_ing(package: Package) -> list[str]:
    """Modules, packages apart, whose name ends in -ing."""
    return sorted(n for n, module in package.modules.items() if not module.package and n.endswith("ing"))


def gerunds(package: Package) -> list[str]:
    """Modules and packages called by a gerund: -ing, and neither a noun of the field nor a package of the design."""
    return sorted(name for name, module in package.modules.items() if name.endswith("ing") and _gerund(module))


def _gerund(module: Module) -> bool:
    if module.last_name.rpartition("_")[2] in NOUNS:
        return False
    at_the_top = "." not in module.name
    return not (module.last_name in PACKAGES and (module.package or at_the_top))


def small_with_one_user(package: Package) -> dict[str, str]:
    """Modules under 40 lines that one module uses, with that module.

    Commands and registered methods apart, which are a file each whatever their length. An `__init__` that passes a
    name on is not a user.
    """
    found = {}
    for name, module in package.modules.items():
        if module.package or module.lines >= SMALL or module.room == "cli" or module.registers:
            continue
        users = {user for user in package.importers(name) if not package.modules[user].package}
        if len(users) == 1:
            found[name] = users.pop()
    return dict(sorted(found.items()))
