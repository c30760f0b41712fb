"""How a command loads a configuration: the options that change it, and the errors of the file."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hilgw.cli.help import LOADING, add_options_of_run

if TYPE_CHECKING:
    from hilgw.config.load import Loaded
    from hilgw.config.source.positions import Diagnostic


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that change a configuration."""
    add_options_of_run(parser, LOADING)


@contextmanager
def without_collection() -> Iterator[None]:
    """A block that makes much and leaves little garbage, or ends the process."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load(args: argparse.Namespace, path: str) -> Loaded:
    """The file with the options of the command, --arm too if it has that. Raises ConfigErrors."""
    import dataclasses
    import json

    from hilgw.config.load import load_config
    from hilgw.config.model import armed
    from hilgw.config.shipped import found

    overrides = getattr(args, "overrides", [])
    if (metrics := getattr(args, "metrics", None)) is not None:
        overrides = [*overrides, f"metrics.listen={json.dumps(metrics)}"]
    backend, speed = getattr(args, "backend", None), getattr(args, "speed", None)
    loaded = load_config(found(path), overrides, backend, speed)
    if not getattr(args, "arm", False):
        return loaded
    return dataclasses.replace(loaded, config=armed(loaded.config))


def print_findings(errors: list[Diagnostic], warnings: Iterable[Diagnostic]) -> None:
    """Writes the findings to stderr, the warnings first."""
    from hilgw.config.source.positions import ConfigErrors

    for warning in warnings:
        sys.stderr.write(f"{warning}\n")
    if errors:
        sys.stderr.write(f"{ConfigErrors(errors)}\n")
