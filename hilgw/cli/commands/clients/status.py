"""`hilgw status`: the state of all gateways that run; `hilgw metrics`: the same for Prometheus."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hilgw.cli.commands.clients.gateway_request import SELECTION, selected
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.gateway_status import Status, lines
from hilgw.cli.output.text import Style, print_json, use_colour
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.gateway.metrics import text_of

COMMANDS = {
    "status": Command(
        description="Shows the state of all gateways of this user: ports, robots, clients, memory "
        "and losses. Rates are those of the last one to two seconds. The exit code is 0 when all "
        "is up, 4 when a port that a gateway needs is down, and 5 when a body is down that gets "
        "commands, or a gateway does not answer within 1 s. With --network, adds up the ledgers of "
        "all gateways of a federation, on other machines too; the exit code is 0 when they add up, "
        "1 when they do not, and 5 when a gateway does not answer.",
        epilog="examples: hilgw status --json | jq '.[].ports'\n          hilgw status --network",
        options=(
            Option(
                "--network",
                action="store_true",
                help="add up the ledgers of all gateways of the network",
            ),
            Option("--json", action="store_true", help="print a list with each gateway"),
            *SELECTION,
        ),
    ),
    "metrics": Command(
        description="Prints the metrics of all gateways of this user once, in the text format of "
        "Prometheus; the labels `config` and `pid` distinguish the gateways. The exit code is 5 "
        "when one does not answer. `hilgw --config FILE --metrics HOST:PORT` serves them.",
        epilog="example: hilgw metrics | grep hilgw_port",
        options=(*SELECTION,),
    ),
}


def run_status(args: argparse.Namespace) -> int:
    """Returns 0 when all is up, else 4 or 5; with --network 0, 1 or 5. PeerError when no gateway
    runs."""
    if args.network:
        return _network(args)
    found, style = statuses(args), Style(use_colour(sys.stdout))
    if args.json:
        print_json(found)
    else:
        print("\n\n".join("\n".join(lines(status, style)) for status in found))
    return exit_code(found)


def _network(args: argparse.Namespace) -> int:
    """Asks one gateway of each network: it asks the others."""
    from hilgw.cli.output.federation import network_lines
    from hilgw.client.gateway import Gateway

    answers = [each for each in statuses(args) if "federation" in each]
    ends = {each["federation"]["network"]: each for each in answers}
    if not ends:
        fix = "add `federation:` to the file of a gateway, or name its --control"
        raise PeerError("no gateway of yours is in a federation", fix=fix)
    found = {
        name: Gateway(Path(each["control"])).network() | {"asked": each["federation"]["name"]}
        for name, each in ends.items()
    }
    if args.json:
        print_json(found)
    else:
        style = Style(use_colour(sys.stdout))
        print("\n\n".join("\n".join(network_lines(*each, style)) for each in found.items()))
    if any(each["silent"] for each in found.values()):
        return PeerError.exit_code
    return 0 if all(each["adds_up"] for each in found.values()) else HilgwError.exit_code


def run_metrics(args: argparse.Namespace) -> int:
    """Returns 0; 5 when a gateway does not answer. PeerError when none runs."""
    found = statuses(args)
    silent = [each for each in found if "error" in each]
    named = [({"config": e["config"], "pid": str(e["pid"])}, e) for e in found if e not in silent]
    sys.stdout.write(text_of(named))
    for each in silent:
        text = " ".join(map(str.strip, lines(each, Style(on=False))))
        sys.stderr.write(f"hilgw: {text}\n")
    return PeerError.exit_code if silent else 0


def exit_code(statuses: list[Status]) -> int:
    """Of `hilgw status`."""
    robots = [robot for each in statuses for robot in each.get("robots", {}).values()]
    if any("error" in each for each in statuses) or any(robot["down"] for robot in robots):
        return PeerError.exit_code
    ports = [port["down"] for each in statuses for port in each.get("ports", {}).values()]
    return PortError.exit_code if any(ports) else 0


def statuses(args: argparse.Namespace) -> list[Status]:
    """Of each gateway, or of the one that the options select; all are asked at the same time."""
    from hilgw.client.control_paths import live_sockets
    from hilgw.client.control_socket import find_gateway, in_parallel

    options = selected(args)
    paths = [] if any(options.values()) else live_sockets(everywhere=True)
    return in_parallel(
        _status, paths or [find_gateway(options["control"], options["config"], everywhere=True)]
    )


def _status(path: Path) -> Status:
    """`error` instead of the rest where there is no answer, and `program`, which hangs."""
    from hilgw.client.control_paths import program_at
    from hilgw.client.control_socket import ASK_ALL_S
    from hilgw.client.gateway import Gateway

    try:
        return {"control": str(path), **Gateway(path).status(ASK_ALL_S)}
    except HilgwError as error:
        return {"control": str(path), "error": error.what, "program": program_at(path)}
