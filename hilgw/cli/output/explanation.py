"""The text of `hilgw explain`: words and diagrams."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hilgw.cli.output.diagram import End, Glyphs, boxes, bus
from hilgw.config.explain.facts import (
    AdapterFacts,
    AirFacts,
    BodyFacts,
    Bound,
    Connection,
    ControllerFacts,
    DeviceFacts,
    Explanation,
    Meeting,
    RadioFacts,
    RobotFacts,
    StopRule,
    format_of,
)
from hilgw.config.queries import forwarding_of, is_estop_mocked, own_backends, period_ms_of
from hilgw.devices.fields import BROADCAST, UNLIMITED, ReceiverFields
from hilgw.devices.kinds import MOTOR
from hilgw.devices.properties import node_of
from hilgw.errors import printable
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from hilgw.config.model import FederationConfig, GatewayConfig
    from hilgw.transports.base import LineSettings

INDENT = "  "
LABEL = 12
MARGIN = len(INDENT) + LABEL
EMPTY_MODE = {"simulation": {"body": "<->"}, "remote": {"remote": "<->"}}
ARROWS = {**EMPTY_MODE, "shadow": {"body": "<->", "remote": "->"}}


def in_words(facts: Explanation, name: str, width: int, glyphs: Glyphs) -> list[str]:
    """The lines of an explanation. name: of the file. width: of the terminal."""
    page = _Page(facts, width, glyphs)
    lines = page.wrapped(f"{printable(name)}: {_head(facts.config)}", "", len(INDENT))
    for robot in facts.robots:
        lines += ["", *page.robot(robot)]
    for meeting in facts.meetings:
        lines += ["", *page.meeting(meeting)]
    for adapter in facts.adapters:
        lines += ["", *page.adapter(adapter)]
    for air in facts.airs:
        if not air.adapters:
            lines += ["", *page.wrapped(f"air {_air(air)}", "")]
    if facts.config.federation is not None:
        lines += ["", *page.federation(facts.config.federation)]
    notes = [*facts.notices, *map(str, facts.warnings)]
    if notes:
        lines += ["", "to note"]
        for note in notes:
            lines += page.wrapped(note, f"{INDENT}- ")
    return [printable(line) for line in lines]


def _head(config: GatewayConfig) -> str:
    words = {
        "real": "real ports and addresses",
        "mock": "mocks on virtual ports",
        "loopback": "mocks in this process",
    }[config.backend]
    parts = [f"backend {config.backend}: {words}"]
    parts += [f"{name}: backend {own}" for name, own in own_backends(config).items()]
    if config.real and config.backend.is_mocked:
        parts.append(f"real: {', '.join(config.real)}")
    if config.speed != 1:
        parts.append(f"speed {config.speed:g}" if config.speed != "max" else "speed max")
    if config.medium.step_ms is not None:
        parts.append(f"basic time step {config.medium.step_ms} ms")
    if config.obstacles:
        parts.append(f"obstacles: {', '.join(config.obstacles)}")
    if tokens := config.access.tokens:
        roles = ", ".join(f"{name} ({token.role})" for name, token in tokens.items())
        parts.append(f"other hosts with tokens {roles}")
    if config.estop is not None:
        mock = " (here a mock)" if is_estop_mocked(config) else ""
        parts.append(f"emergency-stop switch at {config.estop.where}{mock}")
    if config.access.tls:
        parts.append("TLS for other hosts")
    if config.medium.mocap is not None:
        parts.append(f"motion capture on {config.medium.mocap.listen}")
    return "; ".join(parts)


class _Page:
    """One explanation as text."""

    def __init__(self, facts: Explanation, width: int, glyphs: Glyphs) -> None:
        self._width, self._glyphs = width, glyphs
        self._adapters = {each.name: each for each in facts.adapters}
        self._airs = {each.name: each for each in facts.airs}

    def wrapped(self, text: str, first: str, margin: int | None = None) -> list[str]:
        """A paragraph that begins with `first`, the other lines below its text."""
        rest = " " * (len(first) if margin is None else margin)
        return textwrap.wrap(
            text,
            max(self._width, len(rest) + 20),
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        ) or [first.rstrip()]

    def _rows(self, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Labelled paragraphs."""
        for label, text in rows:
            yield from self.wrapped(text, f"{INDENT}{label:<{LABEL - 1}} ", MARGIN)

    # --- robots -------------------------------------------------------------------------------

    def robot(self, robot: RobotFacts) -> Iterator[str]:
        yield f"robot {robot.name}"
        for line in self._loop(robot):
            yield f"{INDENT}{line}"
        if robot.controller is not None:
            yield from self._rows([("controller", _controller(robot.controller))])
        if robot.mode is not None:
            text = f"{robot.mode} at the start; `hilgw mode {robot.name}` changes it"
            yield from self._rows([("mode", text)])
        for body in robot.bodies:
            yield from self._rows(_body(body, robot))
            yield from self._rows(_devices(body.devices))
            yield from self._rows(
                ("forwards", text) for text in forwarding_of(body.part).describe()
            )
        yield from self._rows(_devices(robot.other_devices))
        yield from self._rows((f"{each.name}", _radio(each)) for each in robot.radios)
        yield from self._stops(robot.stops)

    def _loop(self, robot: RobotFacts) -> list[str]:
        """The control loop as a diagram; none for a robot that has radios only."""
        controller = robot.controller
        if controller is not None and controller.behind is not None:
            peer = End("<->", ["controller", *_place(controller.connection)])
            simulator = End("<->", ["Webots", *_place(controller.behind)])
            passed = ["proxy", "all other bytes pass"]
            return boxes(peer, passed, [simulator], self._width - 2, self._glyphs)
        if not robot.bodies and (controller is None or not controller.moves):
            return []
        left = ["controller", "none"]
        if controller is not None:
            left = ["controller", controller.part.kind, *_place(controller.connection)]
        middle = ["control loop", *_loop_words(robot)]
        arrows = ARROWS.get(robot.mode or "simulation", {})
        ends = [
            End(arrows.get(body.key, ""), [body.key, body.part.kind, *_place(body.connection)])
            for body in robot.bodies
        ]
        commands = "<->" if controller is not None and controller.moves else ""
        ends = ends or [End("", ["no body"])]
        return boxes(End(commands, left), middle, ends, self._width - 2, self._glyphs)

    def _stops(self, stops: Sequence[StopRule]) -> Iterator[str]:
        label = "stops when"
        for rule in stops:
            yield from self.wrapped(
                f"{rule.cause}: {_when(rule)}", f"{INDENT}{label:<{LABEL}}- ", MARGIN + 2
            )
            label = ""

    # --- hardware -----------------------------------------------------------------------------

    def adapter(self, adapter: AdapterFacts) -> Iterator[str]:
        yield f"adapter {adapter.name}"
        port, common, limits = adapter.connection, adapter.config.common, adapter.kind.limits
        sent = "all channels"
        if adapter.channels is not None:
            sent = "channel " + ", ".join(map(str, adapter.channels))
        by = f"; mapping {adapter.mapping}" if adapter.mapping else ""
        framing = f"; framing {adapter.framing}" if adapter.framing else ""
        moves = f"; moves with {common.attached_to}" if common.attached_to else ""
        queue = "16 MiB" if common.bufferSize == -1 else f"{common.bufferSize} bytes"
        relays = "; sends packets of other airs, too" if common.relay else ""
        yield from self._rows(
            [
                ("kind", f"{adapter.config.kind}: {adapter.kind.summary}{moves}"),
                ("port", " - ".join(_place(port))),
                ("line", _line(port.line)),
                ("channel", f"{adapter.kind.type} {common.channel}; sends {sent}{by}"),
                (
                    "packets",
                    f"up to {limits.payload} bytes each{framing}; up to {queue} wait, "
                    f"{limits.window} under way{relays}",
                ),
                ("air", _air(self._airs[adapter.air], adapter.name)),
            ]
        )

    def federation(self, config: FederationConfig) -> Iterator[str]:
        """Where other gateways are, and how."""
        yield f"federation, as {config.name} in the network {config.network}"
        meant = {
            "peer": "with each gateway that it connects to or that connects to it",
            "client": "through the router or peer that it connects to",
            "router": "passes packets on for others, too",
        }
        rows = [("mode", f"{config.mode}: {meant[config.mode]}")]
        rows += [("listens on", each) for each in config.endpoints]
        rows += [("connects to", each) for each in config.connect]
        yield from self._rows(rows)
        if config.ros2 is not None:
            domain, namespace = config.ros2.domain, config.ros2.namespace
            topics = f"packets are also topics /{namespace}/DEVICE of the domain {domain}"
            yield from self._rows([("ROS 2", topics)])

    def meeting(self, meeting: Meeting) -> Iterator[str]:
        where = "every channel" if meeting.channel is None else f"channel {meeting.channel}"
        right = [self._beyond(name) for name in meeting.adapters]
        yield f"{meeting.type}, {where}" + ("" if right else ": no hardware")
        left = [(name, "->") for name in meeting.emitters]
        left += [(name, "<-") for name in meeting.receivers]
        for line in bus(left or [("no device", "")], right, self._width - 2, self._glyphs):
            yield f"{INDENT}{line}"

    def _beyond(self, name: str) -> str:
        adapter = self._adapters[name]
        return f"{name}: {' - '.join(_place(adapter.connection))} - air {adapter.air}"


# --- words ----------------------------------------------------------------------------------------


def _place(connection: Connection) -> list[str]:
    """Where a part is, and what is there instead."""
    lines = {
        "port": [connection.address],
        "connect": [connection.address],
        "listen": [f"listens on {connection.address}"],
        "local": [connection.address],
        "program": [_program(connection)],
        "inside": ["in the gateway"],
    }[connection.way]
    return [*lines, f"mock {connection.mock}"] if connection.mock else lines


def _program(connection: Connection) -> str:
    """The program without its folder, and its arguments."""
    return connection.address.rpartition("/")[2]


def _loop_words(robot: RobotFacts) -> list[str]:
    if not robot.bodies or robot.controller is None or not robot.controller.moves:
        return ["moves no motors"]
    words = []
    for body in robot.bodies:
        safety = body.safety
        which = f"{body.key} " if len(robot.bodies) > 1 else ""
        words.append(f"{which}{'armed' if safety.armed else 'disarmed'}")
        if safety.timeout_s is not None:
            words.append(f"{which}deadline {safety.timeout_s:g} s")
    if robot.controller.step_ms is not None:
        words.append(f"step {robot.controller.step_ms} ms")
    return words


def _controller(controller: ControllerFacts) -> str:
    connection = controller.connection
    words = f"{controller.part.kind}: {controller.kind.summary}"
    words += {
        "program": f": {_program(connection)}",
        "listen": f"; it connects to {connection.address}",
        "local": f"; it connects to {connection.address}",
        "port": f"; on {connection.address}",
        "inside": "",
    }[connection.way]
    words += _line_words(connection)
    if controller.step_ms is not None:
        words += f"; steps of {controller.step_ms} ms"
    if (period_ms := period_ms_of(controller.part)) is not None:
        words += f"; every {period_ms:g} ms"
    if controller.behind is not None:
        mock = f" (here the mock {controller.behind.mock})" if controller.behind.mock else ""
        words += f"; its robot is in Webots, {controller.behind.address}{mock}"
        if only := controller.part.settings.only:
            words += f"; real hardware only: {', '.join(only)}"
    return words + (f"; here the mock {connection.mock}" if connection.mock else "")


def _body(body: BodyFacts, robot: RobotFacts) -> Iterator[tuple[str, str]]:
    connection, safety = body.connection, body.safety
    stop = body.kind.stop_frame(body.part.settings)
    place = f"; {connection.address}{_line_words(connection)}"
    mock = f"; here the mock {connection.mock}" if connection.mock else ""
    yield body.key, f"{body.part.kind}: {body.kind.summary}{place}{mock}"
    if (load := body.kind.line_load(body.part.settings)) is not None:
        if load.each_device:
            needed = "bytes for each sensor, and for each motor the other way"
            share = f"{load.possible // load.needed} of either"
        else:
            part = 100 * load.needed / load.possible if load.possible else 0
            needed, share = "bytes at most", f"{part:.0f} %"
        yield (
            "each period",
            f"{load.period_ns / NS_PER_MS:g} ms: {load.needed} {needed}, the line carries "
            f"{load.possible} ({share})",
        )
    if body.registers:
        more = "; limits hold for these" if body.devices else "; no limits but Webots' own"
        yield "devices", f"the robot reports them when it connects{more}"
    if robot.controller is not None and robot.controller.moves:
        kind = "no real motors" if safety.simulated else "real motors"
        armed = "armed at the start" if safety.armed else "not armed at the start: "
        if not safety.armed:
            armed += f"--arm or `hilgw arm {robot.name}` lets the motors move"
        latch = "a stop disarms it" if safety.latch else "a stop does not disarm it"
        yield "safety", f"{kind}; {armed}; {latch}"
    times = ", for each motor" if stop.each_motor else ""
    yield "stop", f"{stop.words}{times}"
    yield "", stop.form
    if stop.has_watchdog:
        yield "watchdog", stop.alone
    else:
        yield "watchdog", f"NONE in the robot: {stop.alone}"


def _devices(devices: Sequence[DeviceFacts]) -> Iterator[tuple[str, str]]:
    """The motors one by one, the others by node."""
    others: dict[tuple[str, str, str], list[str]] = {}
    for each in devices:
        if each.device.role == MOTOR:
            yield "motor", f"{each.device.name} ({each.node}): {_limits(each)}"
            continue
        units = ", ".join(dict.fromkeys(filter(None, each.reports)))
        key = (each.device.role, each.node, units)
        others.setdefault(key, []).append(each.device.name)
    for (role, node, units), names in sorted(others.items(), key=lambda item: item[0][0]):
        in_units = f" in {units}" if units else ""
        yield role, f"{', '.join(names)} ({node}{in_units})"


def _limits(facts: DeviceFacts) -> str:
    device, words = facts.device, [_bound(bound) for bound in facts.bounds]
    if device.limits.rate is not None:
        words.append(f"changes by at most {device.limits.rate:g} per second")
    if device.default is not None:
        words.append(f"stops at {device.default:g} m")
    return "; ".join(words) or "no limits but Webots' own"


def _bound(bound: Bound) -> str:
    by = " (of the robot)" if bound.by == "device" else ""
    if bound.low is None or bound.high is None:
        side = f"up to {bound.high:g}" if bound.low is None else f"from {bound.low:g}"
        return f"{bound.quantity} {side} {bound.unit}{by}"
    return f"{bound.quantity} {bound.low:g} to {bound.high:g} {bound.unit}{by}"


def _radio(radio: RadioFacts) -> str:
    fields = radio.fields
    channel = "every channel" if fields.channel == BROADCAST else f"channel {fields.channel}"
    rate = f", {fields.baudRate} bit/s, {fields.byteSize} bit a byte"
    rate = "" if fields.baudRate == UNLIMITED else rate
    buffer = "" if fields.bufferSize == UNLIMITED else f", holds {fields.bufferSize} bytes"
    reach = "" if radio.range in (None, UNLIMITED) else f", range {radio.range:g} m"
    period = ""
    if isinstance(fields, ReceiverFields):
        every = radio.sampling_period_ms
        period = f", sampled every {every} ms" if every else ", sampled when its controller asks"
    meets = f"; meets {', '.join(radio.hardware)}" if radio.hardware else "; meets no hardware"
    return f"{node_of(fields)} {fields.type}, {channel}{rate}{buffer}{reach}{period}{meets}"


def _when(rule: StopRule) -> str:
    if rule.after_s is None:
        return rule.note
    return f"after {rule.after_s:g} s" if rule.after_s else "at once"


def _line_words(connection: Connection) -> str:
    return "" if connection.line is None else f", {_line(connection.line)}"


def _line(line: LineSettings | None) -> str:
    if line is None:
        return "none"
    return (
        f"{line.baudRate} bit/s {format_of(line)}: {line.byteSize} bits a byte, "
        f"{line.baudRate / line.byteSize:.6g} bytes/s"
    )


def _air(air: AirFacts, adapter: str = "") -> str:
    """The air and what shares it, but this adapter."""
    others = [name for name in air.adapters if name != adapter]
    nodes = [
        f"{name} (mock {node.mock}{f' at {node.link}' if node.link else ''})"
        for name, node in air.config.nodes.items()
        if air.has_nodes
    ]
    words = f"{air.name}: with {', '.join([*others, *nodes])}" if others or nodes else air.name
    loss = air.config.loss if nodes else 0
    return words + (f"; loses {100 * loss:g} % of the frames" if loss else "")
