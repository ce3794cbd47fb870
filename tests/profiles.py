"""How many examples a law is tried on: the profile says, and a law may ask for some multiple of that."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

EXAMPLES = {"default": 30, "all": 100, "search": 1000}
"""`make test`; `make test-all`; and one that draws other examples each time: pytest --hypothesis-profile search."""


def register() -> None:
    """Make the profiles known, and load the default one; pytest's option loads another one after it."""
    for name, count in EXAMPLES.items():
        settings.register_profile(
            name,
            max_examples=count,
            derandomize=name != "search",
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("default")


def examples(times: float) -> settings:
    """So many times the profile's number of examples."""
    return settings(max_examples=max(1, round(times * settings().max_examples)))
