"""What a shell offers for an argument: names only, and only where there are few.

A shell asks at each press of a key, so an answer may cost a moment and never an error: where the package that knows the
names is missing, nothing is offered.
"""

from __future__ import annotations

from rewardkit.cli._glue import glue
from rewardkit.errors import MissingDependencyError


def recipe_names(incomplete: str) -> list[str]:
    """The recipes whose names begin so."""
    try:
        names: list[str] = glue("config.recipes", "recipes").recipe_names()
    except MissingDependencyError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def term_names(incomplete: str) -> list[str]:
    """The terms and functions of the vocabulary whose names begin so."""
    from rewardkit.analysis.vocabulary import describe_vocabulary

    return [entry["name"] for entry in describe_vocabulary() if entry["name"].startswith(incomplete)]
