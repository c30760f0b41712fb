"""Tests that a harness runs with what it made."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Any


def scenario_of(
    harness: Callable[..., Any], *given: Any, **settings: Any
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Let `harness` run a test, with its own objects as the parameters before `/`.

    The harness awaits an `async def` test. The other parameters are fixtures and values, as in
    any test. A keyword-only parameter of the harness without a default is a fixture, too.
    """
    fixtures = [
        parameter
        for parameter in signature(harness).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty
    ]

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        own = [
            parameter
            for parameter in signature(test).parameters.values()
            if parameter.kind is not Parameter.POSITIONAL_ONLY
        ]
        names = {parameter.name for parameter in own}
        shown = Signature([*own, *(each for each in fixtures if each.name not in names)])

        @wraps(test)
        def run(*values: Any, **named: Any) -> None:
            arguments = shown.bind(*values, **named).arguments
            needed = {parameter.name: arguments[parameter.name] for parameter in fixtures}
            scenario = partial(test, **{name: arguments[name] for name in names})
            harness(scenario, *given, **needed, **settings)

        vars(run)["__signature__"] = shown
        return run

    return decorate
