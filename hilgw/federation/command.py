"""`hilgw scan`: known hardware on serial ports, or the gateways of a federation."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hilgw.cli.commands.hardware import scan
from hilgw.cli.declaration import Command, Option
from hilgw.errors import ConfigError, PeerError, UsageError, printable, quoted

if TYPE_CHECKING:
    from hilgw.config.model import FederationConfig

Found = dict[str, Any]
ANY = "*"
COMMANDS = {
    "scan": Command(
        description="Opens each port at the baud rates of known modules and identifies the "
        "module. Changes no setting, but another device on the port receives unexpected bytes: "
        "name the ports when robots are connected. With --network: lists the gateways of a "
        "federation, what they have, and the time to them and back.",
        epilog="examples: hilgw scan /dev/ttyUSB0 --baudRate 9600\n"
        "          hilgw scan --network --connect tcp/127.0.0.1:7447",
        options=(
            *scan.OPTIONS,
            Option(
                "--network",
                nargs="?",
                const="",
                metavar="NAME",
                help="instead: list the gateways of a federation (of this network), and what they "
                "have",
            ),
            Option(
                "--connect",
                action="append",
                metavar="ENDPOINT",
                help="with --network: ask here, e.g. tcp/127.0.0.1:7447 (repeatable)",
            ),
            Option(
                "-c",
                "--config",
                metavar="FILE",
                default=argparse.SUPPRESS,
                help="with --network: ask at the endpoints of this file, with its TLS; without "
                "both, the gateways of this machine are asked",
            ),
            Option(
                "--control",
                metavar="PATH",
                default=argparse.SUPPRESS,
                help="with --network: ask the gateway with this control socket",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Search the ports, or print the gateways.

    Raises:
        PeerError: Nothing is found.
        PortError: A named port cannot be searched.
    """
    if args.network is None:
        if args.connect:
            raise UsageError(
                "--connect is of gateways", fix="hilgw scan --network --connect ENDPOINT"
            )
        scan.run(args)
        return
    if args.ports or args.kind or args.baudRate:
        raise UsageError("--network is of gateways, not of ports", fix="name no ports and kinds")
    file = getattr(args, "config", None)
    gateways = _surveyed(args, file) if file or args.connect else _asked(args)
    gateways = sorted(gateways, key=lambda each: (each["network"], each["name"], each["id"]))
    if args.json:
        from hilgw.cli.output.text import print_json

        print_json(gateways)
    else:
        for gateway in gateways:
            print("\n".join(lines(gateway)))


def _surveyed(args: argparse.Namespace, file: str | None) -> list[Found]:
    config = _config(args, file)
    try:
        from hilgw.federation.survey import survey
    except ModuleNotFoundError as error:
        if error.name != "zenoh":
            raise
        raise ConfigError(
            "needs Eclipse Zenoh", where="hilgw scan --network", fix="pip install 'hilgw[zenoh]'"
        ) from None
    network = args.network or (config.network if file else ANY)
    endpoints = list(dict.fromkeys(args.connect or [*config.endpoints, *config.connect]))
    for endpoint in endpoints:
        if not all(endpoint.partition("/")):
            raise UsageError(
                f"{quoted(endpoint)} is not an endpoint of Zenoh",
                fix="write PROTOCOL/HOST:PORT, e.g. tcp/127.0.0.1:7447",
            )
    gateways, problems = survey(config, endpoints, network)
    if not gateways:
        problem = "; ".join(f"{printable(at)}: {printable(why)}" for at, why in problems.items())
        raise PeerError(
            f"no gateway found: {problem}",
            fix="check the endpoint and its TLS, and that a gateway with `federation:` runs",
        )
    for place, why in problems.items():
        sys.stderr.write(f"hilgw: {printable(place)}: {printable(why)}\n")
    return gateways


def _config(args: argparse.Namespace, file: str | None) -> "FederationConfig":
    from hilgw.config.model import FederationConfig
    from hilgw.federation.wire import NAME

    if args.network and not NAME.fullmatch(args.network):
        raise UsageError(
            f"{quoted(args.network)} is not the name of a network",
            fix="write 1 to 64 of A-Z a-z 0-9 _ -",
        )
    if file is None:
        return FederationConfig(name="scan")
    from hilgw.cli.commands.configurations.loading import load

    federation = load(args, file).config.federation
    if federation is None:
        raise UsageError(
            f"{printable(file)} has no federation", fix="add `federation:`, or --connect"
        )
    return federation


# --- without an endpoint: what the running gateways know ------------------------------------------


def _asked(args: argparse.Namespace) -> list[Found]:
    from hilgw.cli.commands.clients.status import statuses

    ends = [each for each in statuses(args) if "federation" in each]
    if not ends:
        raise PeerError(
            "no gateway of yours is in a federation",
            fix="name an endpoint with --connect, or a file with --config",
        )
    gateways: dict[tuple[str, str, str], Found] = {}
    for gateway in (*map(_own, ends), *(other for end in ends for other in _others(end))):
        if args.network in ("", gateway["network"]):
            key = gateway["network"], gateway["name"], gateway["id"]
            gateways[key] = {**gateway, **gateways.get(key, {})}  # with the way there
    if not gateways:
        raise PeerError(f"no gateway of yours is in the network {quoted(args.network)}")
    return list(gateways.values())


def _own(status: Found) -> Found:
    federation = status["federation"]
    keys = ("network", "name", "id", "version", "robots", "listeners")
    return {key: federation[key] for key in keys} | {"hilgw": status["version"], "state": "up"}


def _others(status: Found) -> Iterator[Found]:
    federation = status["federation"]
    more = {"network": federation["network"], "own_version": federation["version"]}
    for name, gateway in federation["gateways"].items():
        yield {**more, "name": name, "seen_by": federation["name"], **gateway}


# --- words ----------------------------------------------------------------------------------------


def lines(gateway: Found) -> Iterable[str]:
    """Yield the lines about one gateway.

    All of it comes from the network.
    """
    from hilgw.cli.output.federation import things
    from hilgw.events.words import way
    from hilgw.federation.wire import VERSION

    own, latency = gateway.get("own_version", VERSION), gateway.get("latency", {})
    times = (latency.get("p50_ms"), latency.get("p99_ms"), gateway.get("round_trip_ms"))
    state, seen = gateway.get("state", "up"), gateway.get("seen_by")
    words = [
        f"hilgw {gateway['hilgw']}" if gateway["hilgw"] else "",
        f"protocol version {gateway['version']}",
        f"{state}: {gateway['reason']}" if state != "up" and gateway.get("reason") else state,
        way(*times, gateway.get("clock_offset_s")),
    ]
    by = f", as seen by {seen}" if seen else ""
    about = printable("; ".join(filter(None, words)) + by)
    yield f"{printable(gateway['name'])} in the network {printable(gateway['network'])}: {about}"
    if gateway["version"] != own:
        yield (
            f"    it speaks version {gateway['version']} of the federation, this hilgw {own}: "
            "they refuse each other"
        )
    yield from (f"    {line}" for line in things(gateway))
