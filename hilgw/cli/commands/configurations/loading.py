"""Loading of a configuration: the options that change it, and the errors of the file."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.cli.help import LOADING, options_of_run
from hilgw.cli.output.text import duration
from hilgw.errors import UsageError

if TYPE_CHECKING:
    from hilgw.config.load import Loaded
    from hilgw.config.replays import ReplayOptions
    from hilgw.config.source.text import Diagnostic


# The options that change a configuration.
OPTIONS = options_of_run(LOADING, **{"from": duration})


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause garbage collection in a block that makes much and keeps little, or ends the process."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load(args: argparse.Namespace, path: str) -> Loaded:
    """Return the file with the options of the command, --arm too if it has that.

    Raises:
        ConfigErrors: The file or an option is wrong.
    """
    import dataclasses
    import json

    from hilgw.assemble.checks import check_zenoh
    from hilgw.config.load import load_config
    from hilgw.config.model import armed
    from hilgw.config.replays import disarmed
    from hilgw.config.shipped import found

    overrides = getattr(args, "overrides", [])
    if (metrics := getattr(args, "metrics", None)) is not None:
        overrides = [*overrides, f"metrics.listen={json.dumps(metrics)}"]
    backend, speed = getattr(args, "backend", None), getattr(args, "speed", None)
    loaded = load_config(found(path), overrides, backend, speed, _replay(args), check_zenoh)
    if not getattr(args, "arm", False):
        return loaded
    return dataclasses.replace(loaded, config=disarmed(armed(loaded.config)))


def _replay(args: argparse.Namespace) -> ReplayOptions | None:
    from hilgw.config.replays import ReplayOptions

    given = vars(args)
    if "replay" not in given:
        if wrong := [name for name in ("only", "from", "on_departure") if name in given]:
            raise UsageError(f"--{wrong[0].replace('_', '-')} is of --replay FILE")
        return None
    keys = {"from": "from_s", "on_departure": "on_departure"}
    settings = {key: given[name] for name, key in keys.items() if name in given}
    only = tuple(filter(None, given.get("only", "").split(",")))
    return ReplayOptions(str(Path(args.replay).absolute()), only, settings)


def print_findings(errors: list[Diagnostic], warnings: Iterable[Diagnostic]) -> None:
    """Write the findings to stderr, the warnings first."""
    from hilgw.config.source.text import ConfigErrors

    for warning in warnings:
        sys.stderr.write(f"{warning}\n")
    if errors:
        sys.stderr.write(f"{ConfigErrors(errors)}\n")
