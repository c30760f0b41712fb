"""Requests to a gateway that runs on this machine: their options, and their errors."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that select the gateway; they may precede the command."""
    parser.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="the gateway that runs this configuration, where several run",
    )
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="the control socket of the gateway",
    )


def request_gateway(
    args: argparse.Namespace,
    request: dict[str, Any],
    where: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 5.0,
) -> dict[str, Any]:
    """Sends one request to the gateway that the options select; its answer. HilgwError when it
    refuses. fixes: the fix for each reason of a refusal."""
    from hilgw.client.control_socket import find_gateway, request_of

    path = find_gateway(getattr(args, "control", None), getattr(args, "config", None))
    return request_of(path, request, where, fixes, timeout_s)
