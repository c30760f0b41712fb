"""Requests to a gateway that runs on this machine: their options, and their errors."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.client.control_socket import Gateway


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that select the gateway; they may precede the command."""
    parser.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="only the gateway that runs this configuration",
    )
    parser.add_argument(
        "--control",
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="only the gateway with this control socket",
    )


def selected(args: argparse.Namespace) -> dict[str, str | None]:
    """The values of the options."""
    return {name: getattr(args, name, None) for name in ("control", "config")}


def request_gateway(
    args: argparse.Namespace,
    request: dict[str, Any],
    kind: str,
    name: str,
    fixes: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 5.0,
) -> tuple[dict[str, Any], Gateway]:
    """Sends one request to the gateway that the options select, or that has this name; its answer,
    and the gateway. HilgwError when it refuses. kind: as `hilgw.client.finding.gateways_with`.
    fixes: the fix for each reason of a refusal."""
    from hilgw.client.control_socket import request_of
    from hilgw.client.finding import gateway_with

    gateway = gateway_with(kind, name, **selected(args))
    return request_of(gateway, request, name, fixes, timeout_s), gateway
