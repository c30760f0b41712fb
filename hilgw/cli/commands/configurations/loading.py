"""How a command loads a configuration: the options that change it, and the errors of the file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hilgw.config.load import Loaded
    from hilgw.config.source.positions import Diagnostic


def add_options(parser: argparse.ArgumentParser) -> None:
    """SUPPRESS, because they may precede or follow the command."""
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        dest="overrides",
        default=argparse.SUPPRESS,
        help="override one value, e.g. --set adapters.xbee0.channel=13 (repeatable)",
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="real, mock or loopback: what is behind the ports",
    )
    parser.add_argument(
        "--speed",
        metavar="N",
        default=argparse.SUPPRESS,
        help="simulated time per real time, or max: as fast as the machine can (mocks only)",
    )


def load(args: argparse.Namespace, path: str) -> Loaded:
    """The file with the options of the command, --arm too if it has that. Raises ConfigErrors."""
    import dataclasses

    from hilgw.config.load import load_config
    from hilgw.config.model import armed
    from hilgw.config.shipped import found

    overrides = getattr(args, "overrides", [])
    backend, speed = getattr(args, "backend", None), getattr(args, "speed", None)
    loaded = load_config(found(path), overrides, backend, speed)
    if not getattr(args, "arm", False):
        return loaded
    return dataclasses.replace(loaded, config=armed(loaded.config))


def print_findings(errors: list[Diagnostic], warnings: Iterable[Diagnostic]) -> None:
    """To stderr, the warnings first."""
    from hilgw.config.source.positions import ConfigErrors

    for warning in warnings:
        sys.stderr.write(f"{warning}\n")
    if errors:
        sys.stderr.write(f"{ConfigErrors(errors)}\n")
