"""`hilgw status`: the state of all gateways that run; `hilgw metrics`: the same for Prometheus."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hilgw.cli.commands.clients.gateway_request import SELECTION, selected
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.federation import status_lines
from hilgw.cli.output.text import Style, cut, hanging, print_json, use_colour
from hilgw.errors import HilgwError, PeerError, PortError, printable
from hilgw.events.words import in_words, joined, of_motors, reason_counts, span
from hilgw.protocols.gateway.metrics import text_of

Status = dict[str, Any]
_WIDTH = 80
_NAME = 22  # of a port, at most
_HEAD = (
    f"{'state':9} {'since':>6} {'in B/s':>8} {'pkt/s':>6} {'out B/s':>8} {'pkt/s':>6} {'last':>6}"
)
_RATES = (("received_bytes", 8), ("received_packets", 6), ("sent_bytes", 8), ("sent_packets", 6))
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
    """Return 0 when all is up, else 4 or 5; with --network 0, 1 or 5.

    Raises:
        PeerError: No gateway runs.
    """
    if args.network:
        return _network(args)
    answers, style = statuses(args), Style(use_colour(sys.stdout))
    if args.json:
        print_json(answers)
    else:
        print("\n\n".join("\n".join(lines(status, style)) for status in answers))
    return exit_code(answers)


def _network(args: argparse.Namespace) -> int:
    """Ask one gateway of each network: it asks the others."""
    from hilgw.cli.output.federation import network_lines
    from hilgw.client.gateway import Gateway

    answers = [each for each in statuses(args) if "federation" in each]
    ends = {each["federation"]["network"]: each for each in answers}
    if not ends:
        raise PeerError(
            "no gateway of yours is in a federation",
            fix="add `federation:` to the file of a gateway, or name its --control",
        )
    networks = {
        name: Gateway(Path(each["control"])).network() | {"asked": each["federation"]["name"]}
        for name, each in ends.items()
    }
    if args.json:
        print_json(networks)
    else:
        style = Style(use_colour(sys.stdout))
        print("\n\n".join("\n".join(network_lines(*each, style)) for each in networks.items()))
    if any(each["silent"] for each in networks.values()):
        return PeerError.exit_code
    return 0 if all(each["adds_up"] for each in networks.values()) else HilgwError.exit_code


def run_metrics(args: argparse.Namespace) -> int:
    """Return 0; 5 when a gateway does not answer.

    Raises:
        PeerError: No gateway runs.
    """
    answers = statuses(args)
    silent = [each for each in answers if "error" in each]
    named = [({"config": e["config"], "pid": str(e["pid"])}, e) for e in answers if e not in silent]
    sys.stdout.write(text_of(named))
    for status in silent:
        text = " ".join(map(str.strip, lines(status, Style(on=False))))
        sys.stderr.write(f"hilgw: {text}\n")
    return PeerError.exit_code if silent else 0


def exit_code(statuses: list[Status]) -> int:
    """Return the exit code of `hilgw status`."""
    robots = [robot for each in statuses for robot in each.get("robots", {}).values()]
    if any("error" in each for each in statuses) or any(robot["down"] for robot in robots):
        return PeerError.exit_code
    ports = [port["down"] for each in statuses for port in each.get("ports", {}).values()]
    return PortError.exit_code if any(ports) else 0


def statuses(args: argparse.Namespace) -> list[Status]:
    """Return the status of each gateway, or of the selected one, asking all at the same time."""
    from hilgw.client.control_paths import live_sockets
    from hilgw.client.control_socket import find_gateway, in_parallel

    options = selected(args)
    paths = [] if any(options.values()) else live_sockets(everywhere=True)
    return in_parallel(
        _status, paths or [find_gateway(options["control"], options["config"], everywhere=True)]
    )


def _status(path: Path) -> Status:
    """Return the status; without an answer, `error` and the `program` that hangs."""
    from hilgw.client.control_paths import program_at
    from hilgw.client.control_socket import ASK_ALL_S
    from hilgw.client.gateway import Gateway

    try:
        return {"control": str(path), **Gateway(path).status(ASK_ALL_S)}
    except HilgwError as error:
        return {"control": str(path), "error": error.what, "program": program_at(path)}


def lines(status: Status, style: Style) -> list[str]:
    """Return the lines of one gateway, in 80 columns.

    Text of others is made printable.
    """
    if "error" in status:
        error = style.bad(printable(status["error"]))
        program = f" ({status['program']})" if status["program"] else ""
        return hanging(f"{printable(status['control'])}: {error}{program}", _WIDTH, 4)
    config = printable(Path(status["config"]).stem or status["control"])
    memory = "" if status["memory_bytes"] is None else f", {status['memory_bytes'] / 1e6:.0f} MB"
    process = f"process {status['pid']}, for {span(status['uptime_s'])}{memory}"
    text = [f"{style.strong(config)}  {process}"]
    ports = [
        (cut(printable(name), _NAME, _NAME // 2), each) for name, each in status["ports"].items()
    ]
    wide = max([15, *(len(name) for name, _ in ports)])
    text += [f"  {'port':{wide}} {_HEAD}"] if ports else []
    for name, port in ports:
        text += _port(f"{name:{wide}}", port, style)
    robots = status["robots"].items()
    text += [f"  {printable(name)}: {_robot(robot, style)}" for name, robot in robots]
    clients = (f"{count} at {printable(where)}" for where, count in status["clients"].items())
    text.append(f"  clients: {', '.join(clients)}")
    text += status_lines(federation, style) if (federation := status.get("federation")) else []
    losses = [(kind, reasons) for kind, reasons in status["losses"].items() if reasons]
    text += [f"  {in_words(kind)}: {printable(reason_counts(each))}" for kind, each in losses]
    return [
        piece
        for line in text
        for piece in hanging(line, _WIDTH, len(line) - len(line.lstrip()) + 2)
    ]


def _port(name: str, port: Mapping[str, Any], style: Style) -> list[str]:
    state, last_s, loss = port["state"], port["last_byte_s"], port["last_loss"]
    colour = style.bad if port["down"] else style.good if state == "up" else style.dim
    rates = " ".join(f"{port[f'{what}_per_s']:>{width}.4g}" for what, width in _RATES)
    last = "never" if last_s is None else span(last_s)
    text = [f"  {name} {colour(f'{state:9}')} {span(port['since_s']):>6} {rates} {last:>6}"]
    text += [f"    {printable(port['reason'])}"] if state != "up" and port["reason"] else []
    if loss is not None and (state == "up" or loss["reason"] != port["reason"]):
        reason = in_words(printable(loss["reason"]))
        text.append(f"    {loss['what']} lost {span(loss['age_s'])} ago: {reason}")
    return text


def _robot(robot: Mapping[str, Any], style: Style) -> str:
    latched, late, controller = robot["latched"], robot["late_steps"], robot["controller"]
    bodies = robot["bodies"].items()
    words = [
        of_motors(robot) if latched is None else "",
        "" if latched is None else style.bad(f"latched: {in_words(printable(latched))}"),
        "" if robot["mode"] is None else f"mode {robot['mode']}",
        *((style.bad if name in robot["down"] else str)(f"{name} {each}") for name, each in bodies),
        "controller runs" if controller["runs"] else printable(controller["text"]),
        f"{late['count']} late steps, up to {late['max_ms']:g} ms" if late["count"] else "",
    ]
    return joined(words, ", ")
