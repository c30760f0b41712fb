"""What `hilgw status` shows of one gateway, in 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hilgw.cli.output.federation import status_lines
from hilgw.cli.output.text import Style, cut, hanging
from hilgw.errors import printable
from hilgw.events.words import in_words, joined, reason_counts, span

Status = dict[str, Any]
_WIDTH = 80
_NAME = 22  # of a port, at most
_HEAD = (
    f"{'state':9} {'since':>6} {'in B/s':>8} {'pkt/s':>6} {'out B/s':>8} {'pkt/s':>6} {'last':>6}"
)
_RATES = (("received_bytes", 8), ("received_packets", 6), ("sent_bytes", 8), ("sent_packets", 6))


def lines(status: Status, style: Style) -> list[str]:
    """All lines. Text of others is made printable."""
    if "error" in status:
        error = style.bad(printable(status["error"]))
        program = f" ({status['program']})" if status["program"] else ""
        return hanging(f"{printable(status['control'])}: {error}{program}", _WIDTH, 4)
    config = printable(Path(status["config"]).stem or status["control"])
    memory = "" if status["memory_bytes"] is None else f", {status['memory_bytes'] / 1e6:.0f} MB"
    process = f"process {status['pid']}, for {span(status['uptime_s'])}{memory}"
    found = [f"{style.strong(config)}  {process}"]
    ports = [
        (cut(printable(name), _NAME, _NAME // 2), each) for name, each in status["ports"].items()
    ]
    wide = max([15, *(len(name) for name, _ in ports)])
    found += [f"  {'port':{wide}} {_HEAD}"] if ports else []
    for name, port in ports:
        found += _port(f"{name:{wide}}", port, style)
    robots = status["robots"].items()
    found += [f"  {printable(name)}: {_robot(robot, style)}" for name, robot in robots]
    clients = (f"{count} at {printable(where)}" for where, count in status["clients"].items())
    found.append(f"  clients: {', '.join(clients)}")
    found += status_lines(federation, style) if (federation := status.get("federation")) else []
    losses = [(kind, reasons) for kind, reasons in status["losses"].items() if reasons]
    found += [f"  {in_words(kind)}: {printable(reason_counts(each))}" for kind, each in losses]
    return [
        piece
        for line in found
        for piece in hanging(line, _WIDTH, len(line) - len(line.lstrip()) + 2)
    ]


def _port(name: str, port: Mapping[str, Any], style: Style) -> list[str]:
    state, last_s, loss = port["state"], port["last_byte_s"], port["last_loss"]
    colour = style.bad if port["down"] else style.good if state == "up" else style.dim
    rates = " ".join(f"{port[f'{what}_per_s']:>{width}.4g}" for what, width in _RATES)
    last = "never" if last_s is None else span(last_s)
    found = [f"  {name} {colour(f'{state:9}')} {span(port['since_s']):>6} {rates} {last:>6}"]
    found += [f"    {printable(port['reason'])}"] if state != "up" and port["reason"] else []
    if loss is not None and (state == "up" or loss["reason"] != port["reason"]):
        reason = in_words(printable(loss["reason"]))
        found.append(f"    {loss['what']} lost {span(loss['age_s'])} ago: {reason}")
    return found


def _robot(robot: Mapping[str, Any], style: Style) -> str:
    latched, late, controller = robot["latched"], robot["late_steps"], robot["controller"]
    bodies = robot["bodies"].items()
    words = [
        "armed" if robot["armed"] else "disarmed",
        "" if latched is None else style.bad(f"latched: {in_words(printable(latched))}"),
        "" if robot["mode"] is None else f"mode {robot['mode']}",
        *((style.bad if name in robot["down"] else str)(f"{name} {each}") for name, each in bodies),
        "controller runs" if controller["runs"] else printable(controller["text"]),
        f"{late['count']} late steps, up to {late['max_ms']:g} ms" if late["count"] else "",
    ]
    return joined(words, ", ")
