"""What a configuration connects, at which rates, with which limits and stops: facts for people and
programs. Nothing is opened."""

from __future__ import annotations

from hilgw.config.explain.facts import Explanation
from hilgw.config.explain.media import airs_of, hardware_of, meetings_of
from hilgw.config.explain.robots import robot_facts
from hilgw.config.line_rates import notices
from hilgw.config.load import Loaded


def explain(loaded: Loaded) -> Explanation:
    """The facts of a checked configuration."""
    config = loaded.config
    return Explanation(
        config=config,
        robots=tuple(robot_facts(config, name) for name in config.robots),
        adapters=tuple(hardware_of(config, name) for name in config.adapters),
        airs=airs_of(config),
        meetings=meetings_of(config),
        notices=tuple(notices(config)),
        warnings=tuple(loaded.warnings),
    )
