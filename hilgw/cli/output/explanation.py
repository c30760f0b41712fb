"""The text of `hilgw explain`: words and diagrams."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from hilgw.cli.output.diagram import End, Glyphs, boxes, bus
from hilgw.config.explain.robots import Connection, Facts
from hilgw.config.model import FederationConfig, GatewayConfig
from hilgw.config.queries import is_estop_mocked, own_backends
from hilgw.devices.fields import BROADCAST, UNLIMITED
from hilgw.devices.kinds import MOTOR
from hilgw.errors import printable
from hilgw.events.words import joined, of_motors

INDENT = "  "
LABEL = 12
MARGIN = len(INDENT) + LABEL
ARROWS = {
    "simulation": {"body": "<->"},
    "remote": {"remote": "<->"},
    "shadow": {"body": "<->", "remote": "->"},
}


def in_words(
    facts: Facts, config: GatewayConfig, name: str, width: int, glyphs: Glyphs
) -> list[str]:
    """Return the lines of an explanation.

    Args:
        facts: What is explained.
        config: The configuration.
        name: The name of the file.
        width: The width of the terminal.
        glyphs: The characters of diagrams.
    """
    page = _Page(facts, width, glyphs)
    lines = page.wrapped(f"{printable(name)}: {_head(config)}", "", len(INDENT))
    parts = [
        *map(page.robot, facts["robots"]),
        *map(page.meeting, facts["meetings"]),
        *map(page.adapter, facts["adapters"]),
        *(page.wrapped(f"air {_air(air)}", "") for air in facts["airs"] if not air["adapters"]),
        *([] if config.federation is None else [page.federation(config.federation)]),
    ]
    for part in parts:
        lines += ["", *part]
    notes = [*facts["notices"], *map(str, facts["warnings"])]
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
    speed = config.speed if config.speed == "max" else f"{config.speed:g}"
    tokens = [f"{name} ({token.role})" for name, token in config.access.tokens.items()]
    estop, mocap = config.estop, config.medium.mocap
    mock = " (here a mock)" if estop is not None and is_estop_mocked(config) else ""
    parts = [
        f"backend {config.backend}: {words}",
        *(f"{name}: backend {own}" for name, own in own_backends(config).items()),
        f"real: {', '.join(config.real)}" if config.real and config.backend.is_mocked else "",
        f"speed {speed}" if config.speed != 1 else "",
        "" if config.medium.step_ms is None else f"basic time step {config.medium.step_ms} ms",
        f"obstacles: {', '.join(config.obstacles)}" if config.obstacles else "",
        f"other hosts with tokens {', '.join(tokens)}" if tokens else "",
        "" if estop is None else f"emergency-stop switch at {estop.where}{mock}",
        "TLS for other hosts" if config.access.tls else "",
        "" if mocap is None else f"motion capture on {mocap.listen}",
    ]
    return joined(parts)


class _Page:
    def __init__(self, facts: Facts, width: int, glyphs: Glyphs) -> None:
        self._width, self._glyphs = width, glyphs
        self._adapters = {each["name"]: each for each in facts["adapters"]}
        self._airs = {each["name"]: each for each in facts["airs"]}

    def wrapped(self, text: str, first: str, margin: int | None = None) -> list[str]:
        rest = " " * (len(first) if margin is None else margin)
        return textwrap.wrap(
            text,
            max(self._width, len(rest) + 20),
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        ) or [first.rstrip()]

    def _rows(self, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
        for label, text in rows:
            yield from self.wrapped(text, f"{INDENT}{label:<{LABEL - 1}} ", MARGIN)

    # --- robots -------------------------------------------------------------------------------

    def robot(self, robot: Facts) -> Iterator[str]:
        yield f"robot {robot['name']}"
        for line in self._loop(robot):
            yield f"{INDENT}{line}"
        controller, mode = robot["controller"], robot["mode"]
        rows = [("controller", _controller(controller))] if controller is not None else []
        if mode is not None:
            rows.append(("mode", f"{mode} at the start; `hilgw mode {robot['name']}` changes it"))
        for body in robot["bodies"]:
            rows += [*_body(body, robot), *_devices(body["devices"])]
            rows += [("forwards", text) for text in body["forwards"]]
        rows += _devices(robot["other_devices"])
        rows += [(each["name"], _radio(each)) for each in robot["radios"]]
        yield from self._rows(rows)
        yield from self._stops(robot["stops"])

    def _loop(self, robot: Facts) -> list[str]:
        controller = robot["controller"]
        if controller is not None and controller["behind"] is not None:
            peer = End("<->", ["controller", *_place(controller["connection"])])
            simulator = End("<->", ["Webots", *_place(controller["behind"])])
            passed = ["proxy", "all other bytes pass"]
            return boxes(peer, passed, [simulator], self._width - 2, self._glyphs)
        if not robot["bodies"] and (controller is None or not controller["moves"]):
            return []
        left = ["controller", "none"]
        if controller is not None:
            left = ["controller", controller["kind"], *_place(controller["connection"])]
        middle = ["control loop", *_loop_words(robot)]
        arrows = ARROWS.get(robot["mode"] or "simulation", {})
        ends = [
            End(
                arrows.get(body["key"], ""),
                [body["key"], body["kind"], *_place(body["connection"])],
            )
            for body in robot["bodies"]
        ]
        commands = "<->" if controller is not None and controller["moves"] else ""
        ends = ends or [End("", ["no body"])]
        return boxes(End(commands, left), middle, ends, self._width - 2, self._glyphs)

    def _stops(self, stops: Sequence[Facts]) -> Iterator[str]:
        label = "stops when"
        for rule in stops:
            yield from self.wrapped(
                f"{rule['cause']}: {_when(rule)}", f"{INDENT}{label:<{LABEL}}- ", MARGIN + 2
            )
            label = ""

    # --- hardware -----------------------------------------------------------------------------

    def adapter(self, adapter: Facts) -> Iterator[str]:
        yield f"adapter {adapter['name']}"
        port = adapter["connection"]
        sent = "all channels"
        if adapter["channels"] is not None:
            sent = "channel " + ", ".join(map(str, adapter["channels"]))
        mapping, framing = adapter["mapping"], adapter["framing"]
        moves, size = adapter["attached_to"], adapter["queue_bytes"]
        kind = f"{adapter['kind']}: {adapter['summary']}"
        payload = f"up to {adapter['payload_bytes']} bytes each"
        queue = f"up to {'16 MiB' if size == -1 else f'{size} bytes'} wait"
        channel = f"{adapter['type']} {adapter['channel']}; sends {sent}"
        packets = [
            payload,
            f"framing {framing}" if framing else "",
            f"{queue}, {adapter['window']} under way",
            "sends packets of other airs, too" if adapter["relay"] else "",
        ]
        yield from self._rows(
            [
                ("kind", joined([kind, f"moves with {moves}" if moves else ""])),
                ("port", " - ".join(_place(port))),
                ("line", _line(port.line) or "none"),
                ("channel", joined([channel, f"mapping {mapping}" if mapping else ""])),
                ("packets", joined(packets)),
                ("air", _air(self._airs[adapter["air"]], adapter["name"])),
            ]
        )

    def federation(self, config: FederationConfig) -> Iterator[str]:
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

    def meeting(self, meeting: Facts) -> Iterator[str]:
        where = "every channel" if meeting["channel"] is None else f"channel {meeting['channel']}"
        right = [self._beyond(name) for name in meeting["adapters"]]
        yield f"{meeting['type']}, {where}" + ("" if right else ": no hardware")
        left = [(name, "->") for name in meeting["emitters"]]
        left += [(name, "<-") for name in meeting["receivers"]]
        for line in bus(left or [("no device", "")], right, self._width - 2, self._glyphs):
            yield f"{INDENT}{line}"

    def _beyond(self, name: str) -> str:
        adapter = self._adapters[name]
        return f"{name}: {' - '.join(_place(adapter['connection']))} - air {adapter['air']}"


# --- words ----------------------------------------------------------------------------------------


def _place(connection: Connection) -> list[str]:
    words = {"listen": f"listens on {connection.address}", "inside": "in the gateway"}
    words |= {"program": connection.address.rpartition("/")[2]}
    mock = [f"mock {connection.mock}"] if connection.mock else []
    return [words.get(connection.way, connection.address), *mock]


def _loop_words(robot: Facts) -> list[str]:
    if not robot["bodies"] or robot["controller"] is None or not robot["controller"]["moves"]:
        return ["moves no motors"]
    words = []
    for body in robot["bodies"]:
        safety = body["safety"]
        which = f"{body['key']} " if len(robot["bodies"]) > 1 else ""
        words.append(f"{which}{of_motors(safety)}")
        if (timeout_s := safety["command_timeout_s"]) is not None:
            words.append(f"{which}deadline {timeout_s:g} s")
    step_ms = robot["controller"]["step_ms"]
    return words if step_ms is None else [*words, f"step {step_ms} ms"]


def _controller(controller: Facts) -> str:
    connection, behind = controller["connection"], controller["behind"]
    line = _line(connection.line)
    step_ms, period_ms, only = controller["step_ms"], controller["period_ms"], controller["only"]
    place = {
        "program": f": {_place(connection)[0]}",
        "port": f"; on {connection.address}",
        "inside": "",
    }.get(connection.way, f"; it connects to {connection.address}")
    return joined(
        [
            joined([f"{controller['kind']}: {controller['summary']}{place}", line], ", "),
            "" if step_ms is None else f"steps of {step_ms} ms",
            "" if period_ms is None else f"every {period_ms:g} ms",
            "" if behind is None else f"its robot is in Webots, {' - '.join(_place(behind))}",
            f"real hardware only: {', '.join(only)}" if only else "",
            _mock(connection),
        ]
    )


def _mock(connection: Connection) -> str:
    return f"here the mock {connection.mock}" if connection.mock else ""


def _body(body: Facts, robot: Facts) -> Iterator[tuple[str, str]]:
    connection, safety, stop = body["connection"], body["safety"], body["stop"]
    place = joined([connection.address, _line(connection.line)], ", ")
    kind = f"{body['kind']}: {body['summary']}"
    yield body["key"], joined([kind, place, _mock(connection)])
    if (load := body["load"]) is not None:
        period_ms, used, possible = load["period_ms"], load["needed_bytes"], load["possible_bytes"]
        if load["each_device"]:
            needed = "bytes for each sensor, and for each motor the other way"
            share = f"{possible // used} of either"
        else:
            part = 100 * used / possible if possible else 0
            needed, share = "bytes at most", f"{part:.0f} %"
        yield (
            "each period",
            f"{period_ms:g} ms: {used} {needed}, the line carries {possible} ({share})",
        )
    if body["registers"]:
        more = "; limits hold for these" if body["devices"] else "; no limits but Webots' own"
        yield "devices", f"the robot reports them when it connects{more}"
    if robot["controller"] is not None and robot["controller"]["moves"]:
        kind = "no real motors" if safety["simulated"] else "real motors"
        armed = "armed at the start" if safety["armed"] else "not armed at the start: "
        if not safety["armed"]:
            armed += f"--arm or `hilgw arm {robot['name']}` lets the motors move"
        latch = "a stop disarms it" if safety["latch"] else "a stop does not disarm it"
        yield "safety", f"{kind}; {armed}; {latch}"
    times = ", for each motor" if stop.each_motor else ""
    yield "stop", f"{stop.words}{times}"
    yield "", stop.form
    yield "emergency", f"{stop.emergency or 'the same bytes'}, while hilgw hangs or is killed"
    if stop.has_watchdog:
        yield "watchdog", stop.alone
    else:
        yield "watchdog", f"NONE in the robot: {stop.alone}"


def _devices(devices: Sequence[Facts]) -> Iterator[tuple[str, str]]:
    others: dict[tuple[str, str, str], list[str]] = {}
    for device in devices:
        if device["role"] == MOTOR:
            yield "motor", f"{device['name']} ({device['node']}): {_limits(device)}"
            continue
        units = ", ".join(dict.fromkeys(filter(None, device["reports"])))
        key = (device["role"], device["node"], units)
        others.setdefault(key, []).append(device["name"])
    for (role, node, units), names in sorted(others.items(), key=lambda item: item[0][0]):
        in_units = f" in {units}" if units else ""
        yield role, f"{', '.join(names)} ({node}{in_units})"


def _limits(device: Facts) -> str:
    rate, default = device["rate"], device["default_position"]
    words = [
        *map(_bound, device["bounds"]),
        "" if rate is None else f"changes by at most {rate:g} per second",
        "" if default is None else f"stops at {default:g} m",
    ]
    return joined(words) or "no limits but Webots' own"


def _bound(bound: Facts) -> str:
    by = " (of the robot)" if bound["by"] == "device" else ""
    if bound["low"] is None or bound["high"] is None:
        side = f"up to {bound['high']:g}" if bound["low"] is None else f"from {bound['low']:g}"
        return f"{bound['quantity']} {side} {bound['unit']}{by}"
    return f"{bound['quantity']} {bound['low']:g} to {bound['high']:g} {bound['unit']}{by}"


def _radio(radio: Facts) -> str:
    channel, rate, size = radio["channel"], radio["baudRate"], radio["bufferSize"]
    reach, every = radio["range"], radio["sampling_period_ms"]
    period = f"sampled every {every} ms" if every else "sampled when its controller asks"
    words = [
        f"{radio['node']} {radio['type']}",
        "every channel" if channel == BROADCAST else f"channel {channel}",
        "" if rate == UNLIMITED else f"{rate} bit/s, {radio['byteSize']} bit a byte",
        "" if size == UNLIMITED else f"holds {size} bytes",
        "" if reach in (None, UNLIMITED) else f"range {reach:g} m",
        period if radio["node"] == "Receiver" else "",
    ]
    return f"{joined(words, ', ')}; meets {', '.join(radio['hardware']) or 'no hardware'}"


def _when(rule: Facts) -> str:
    if rule["after_s"] is None:
        return str(rule["note"])
    return f"after {rule['after_s']:g} s" if rule["after_s"] else "at once"


def _line(line: Facts | None) -> str:
    if line is None:
        return ""
    return (
        f"{line['baud_rate']} bit/s {line['format']}: {line['byte_bits']} bits a byte, "
        f"{line['bytes_per_s']:.6g} bytes/s"
    )


def _air(air: Facts, adapter: str = "") -> str:
    others = [name for name in air["adapters"] if name != adapter]
    nodes = [
        f"{node['name']} (mock {node['mock']}{f' at {link}' if (link := node['link']) else ''})"
        for node in air["nodes"]
        if node["exists"]
    ]
    name, loss = air["name"], air["loss"] if nodes else 0
    words = f"{name}: with {', '.join([*others, *nodes])}" if others or nodes else name
    return str(words) + (f"; loses {100 * loss:g} % of the frames" if loss else "")
