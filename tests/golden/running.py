"""Runs gateways and firmware mocks in virtual time and writes down all that can be seen of them.

The one file of the golden tests that imports hilgw: when its parts are renamed or moved, this is
where their names are. What it writes must stay the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import importlib
import io
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firmware_mocks.air import Air
from hilgw import plugins
from hilgw.assemble.gateway import build
from hilgw.cli.output.terminal import Terminal
from hilgw.client.connection import line_of
from hilgw.config.load import load_config
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import Direction, LineEvent, Observer
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.engine.simulated.pace import SimulatedClock
from hilgw.errors import HilgwError
from hilgw.settings import PROGRAM
from hilgw.testing.co_simulation import CoSimulation, Side
from hilgw.testing.sim import Clock, SimEventLoop, elapse, local_sockets

MS = 1_000_000
SILENCE_NS = 20 * MS  # bytes of one direction that come so close together are one line
WIDTH = 48  # bytes of a line
STAMP = re.compile(r"^ *\d+\.\d{3}  ", re.M)
BEGIN, END = 12, 4  # lines that are kept of a long section; of the others only a hash
QUIET = re.compile(r"latency|sensor_to_motor|duration_s|speed|.*_(ms|ns|us)")


# --- gateways -------------------------------------------------------------------------------------


Request = tuple[float, Mapping[str, Any]]  # seconds from the start, and what is asked for


def run_config(
    path: str,
    duration_s: float,
    requests: Sequence[Request] = (),
    speed: float | str | None = None,
    *,
    terminal: bool = False,
) -> str:
    """Bytes, packets and report of a configuration as shipped, its mocks on pipes in memory.

    requests: as `hilgw send` and others make them on the control socket; and {"unplug": NAME} or
    {"plug": NAME} for the cable of a mock. speed: on the event loop that a gateway has
    at this speed, and without help of tests. terminal: begins with what the terminal shows.
    """
    loaded = load_config(path, links(path), "loopback", None if speed is None else str(speed))
    if speed is not None:
        loop = PacedLoop(loaded.config.speed)
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(_run(loaded, duration_s, loop.clock, requests, terminal))
    time = Clock()
    with local_sockets(), asyncio.Runner(loop_factory=lambda: SimEventLoop(time)) as runner:
        return runner.run(_run(loaded, duration_s, time, requests, terminal))


@functools.cache
def links(path: str) -> list[str]:
    """No program opens the links of its nodes, and they would be ptys."""
    return [
        f'airs."{air}".nodes."{name}".link=null'
        for air, config in load_config(path, [], "loopback").config.airs.items()
        for name, node in config.nodes.items()
        if node.link is not None
    ]


async def _run(
    loaded: Any,
    duration_s: float,
    time: SimulatedClock,
    requests: Sequence[Request],
    terminal: bool,
) -> str:
    lines, ports, answers = io.StringIO(), Ports(time), list[str]()
    observer, screen = Recorder(), Terminal(lines, clock=lambda: time.now() / 1e9)
    gateway = build(loaded.config, asyncio.get_running_loop(), observer, screen, timer=time)
    for host in gateway.hosts:
        ports.observe(host)
    for line in (*(str(each) for each in loaded.warnings), *gateway.description):
        screen.line(line)
    ended = "in time"
    asking = asyncio.create_task(_ask(gateway, requests, answers, terminal))
    try:
        await gateway.run(asyncio.Event(), duration_s, lambda: screen.line("ready"))
    except HilgwError as error:
        ended = f"{type(error).__name__}, exit code {error.exit_code}"
    finally:
        gateway.close()
    await asking
    report = gateway.report()
    report.pop("speed", None)  # the machine's
    screen.summary(report)
    return "\n".join(
        [
            *(["=== terminal", STAMP.sub("", lines.getvalue())] if terminal else []),
            *answers,
            *observer.written(),
            *ports.written(),
            "=== report",
            json.dumps(_without_times(report), indent=1),
            "",
            f"=== ended: {ended}",
            "",
        ]
    )


def _folded(lines: Iterable[str]) -> list[str]:
    """Equal lines in succession become one, with their number; of what is then still longer than
    BEGIN and END, the middle becomes a hash. HILGW_GOLDEN_WHOLE in the environment keeps all lines:
    two trees that differ in a hash can be compared so."""
    if "HILGW_GOLDEN_WHOLE" in os.environ:
        return list(lines)
    counted = []
    for line, equal in itertools.groupby(lines):
        times = len(list(equal))
        counted.append(line if times == 1 else f"{line}  (x {times})")
    middle = counted[BEGIN:-END]
    if len(middle) <= END:
        return counted
    digest = hashlib.sha256("\n".join(middle).encode()).hexdigest()[:16]
    return [*counted[:BEGIN], f"... {len(middle)} lines more, sha256 {digest}", *counted[-END:]]


async def _ask(gateway: Any, requests: Sequence[Request], answers: list[str], words: bool) -> None:
    """Asks each at its time, through a real control socket."""
    if not requests:
        return
    answers.append("=== asked")
    begin_s = asyncio.get_running_loop().time()
    with tempfile.TemporaryDirectory(prefix="hilgw-golden-") as folder:
        server = ControlServer(gateway, f"{folder}/control")
        await server.start()
        for at_s, request in requests:
            await elapse(begin_s + at_s - asyncio.get_running_loop().time())
            answer: Any = "done"
            if "do" in request:
                answer = await _exchange(server.path, dict(request))
            else:
                [(do, name)] = request.items()
                for host in gateway.hosts:
                    for mock in host.mocks:
                        if mock.name == name:
                            getattr(host, do)(mock)
            answers.append(f"{json.dumps(request)} -> {json.dumps(_outcome(answer, words))}")
        await server.close()
    answers.append("")


async def _exchange(path: Any, request: dict[str, Any]) -> Any:
    """One request, in virtual time: the gateway's own client would block it."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(line_of(request))
    await writer.drain()
    answer = json.loads(await reader.readline())
    answer.pop("version")
    writer.close()
    return answer


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if not QUIET.fullmatch(str(k))}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


def _outcome(answer: Any, words: bool) -> Any:
    """An answer of the control socket. words: with its wording."""
    answer = _without_times(answer)
    if not words and isinstance(answer, dict) and "error" in answer:
        return {**answer, "error": "..."}
    return answer


class Recorder(Observer):
    """The events of a gateway by subject, without their wording."""

    def __init__(self) -> None:
        self.events: dict[str, list[str]] = {}

    def written(self) -> list[str]:
        return [
            line
            for subject in sorted(self.events)
            for line in [f"=== events of {subject}", *_folded(self.events[subject]), ""]
        ]

    def _note(self, subject: str, text: str) -> None:
        self.events.setdefault(subject, []).append(text)

    def state(self, station: str, state: Any, reason: str) -> None:
        self._note(station, f"state {state.value}")

    def transmitted(
        self,
        packet: Any,
        listeners: Any,
        not_received: Any,
        missed: Callable[[], Mapping[str, str]],
    ) -> None:
        text = f"transmitted {_packet(packet)} -> {' '.join(listeners) or not_received}"
        reasons: dict[str, list[str]] = {}
        for name, reason in missed().items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in sorted(reasons.items()):
            text += f"; {reason}: {' '.join(sorted(names))}"
        self._note(packet.source, text)

    def delivered(self, station: str, copy: Any) -> None:
        signal = f"strength {copy.signal_strength:.6g} direction " + " ".join(
            f"{part + 0:.6f}" for part in copy.direction
        )
        self._note(station, f"delivered {_packet(copy.packet)} from {copy.packet.source} {signal}")

    def refused(self, station: str, reason: str, text: str) -> None:
        self._note(station, f"refused {reason}")

    def stopped(self, robot: str, reason: str, text: str) -> None:
        self._note(robot, f"stopped {reason}")


def _packet(packet: Any) -> str:
    return (
        f"ch {packet.channel} {packet.type} {packet.data.hex(' ')} rssi {packet.rssi_dbm} "
        f"address {packet.address}"
    )


# --- bytes ----------------------------------------------------------------------------------------


# What a device of a network peer passes on to its mock beside bytes, and its name in golden files.
EVENTS = {"on_open": "connect", "on_close": "disconnect"}


class Ports:
    """The bytes that modules get and give, in lines that end where there was silence."""

    def __init__(self, time: SimulatedClock) -> None:
        self._time = time
        self._pieces: dict[tuple[str, str], list[tuple[int, str | bytearray]]] = {}

    def observe(self, host: Any) -> None:
        """All that passes from now on between the firmware mocks of a host and their lines."""
        names = {}
        for mock in host.mocks:
            device = host.device_of(mock)
            if hasattr(device, "on_client"):
                continue  # a server, whose connections have its name
            kind = type(mock).__module__.split(".")[1]  # a robot's body and program share its name
            name = names[mock.name] = f"{mock.name} ({kind})"
            for event, text in EVENTS.items():
                if (then := getattr(device, event, None)) is not None:
                    setattr(device, event, self._noting(name, text, then))

        def on_bytes(event: LineEvent) -> None:
            if event.part in names:
                way = "to" if event.direction is Direction.RECEIVED else "from"
                self._add(names[event.part], way, event.data, event.now)

        host.lines.observe(on_bytes)

    def _noting(self, name: str, text: str, then: Callable[..., None]) -> Callable[..., None]:
        soon = asyncio.get_running_loop().call_soon  # as the bytes

        def note(*given: Any) -> None:
            words = " ".join(map(str, [text, *given]))
            soon(self._pieces.setdefault((name, "to"), []).append, (self._time.now(), words))
            then(*given)

        return note

    def _add(self, name: str, way: str, data: bytes, now: int) -> None:
        pieces = self._pieces.setdefault((name, way), [])
        last = pieces[-1] if pieces else None
        if last and isinstance(last[1], bytearray) and now - last[0] < SILENCE_NS:
            last[1].extend(data)
            pieces[-1] = (now, last[1])
        else:
            pieces.append((now, bytearray(data)))

    def written(self) -> list[str]:
        lines = []
        for (name, way), pieces in sorted(self._pieces.items()):
            rows: list[str] = []
            for _, piece in pieces:
                rows += [f"({piece})"] if isinstance(piece, str) else _hex(piece)
            lines += [f"=== bytes {way} {name}", *_folded(rows), ""]
        return lines


def _hex(data: bytes | bytearray) -> list[str]:
    """What goes beyond one line is indented."""
    rows = [bytes(data[at : at + WIDTH]).hex(" ") for at in range(0, len(data), WIDTH)]
    return [f"{'  ' if at else ''}{row}" for at, row in enumerate(rows)]


# --- firmware mocks -------------------------------------------------------------------------------


def new_mock(
    kind: str,
    name: str,
    air: Any,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float],
) -> Any:
    return importlib.import_module(f"firmware_mocks.{kind}").create(
        name, air, dict(parameters), position=position
    )


class Recorded(Side):
    """A mock alone, whose bytes are a line of the record."""

    def __init__(self, world: Modules, mock: Any) -> None:
        super().__init__(world, mock=mock)
        self._record = world.record

    def collected(self, data: bytes) -> None:
        self._record(self.mock, "<", data)


class Modules(CoSimulation):
    """Firmware mocks in one air; which bytes each gets and gives, and at which instant.

    Each step of a script is (milliseconds to wait, module, what): bytes for the module, or the name
    of one of its methods and its arguments; `now` is added where the method takes the time.
    """

    def __init__(self, *modules: tuple[str, Mapping[str, Any]], seed: int = 1) -> None:
        super().__init__(Air(seed=seed))
        self.lines: list[str] = []
        for index, (kind, parameters) in enumerate(modules):
            name = "abcdef"[index]
            mock = new_mock(kind, name, self.air, parameters, (2.0 * index, 0.0, 0.0))
            self.lines.append(f"{name}: {kind} {json.dumps(parameters)}")
            self.start(Recorded(self, mock))
        self._collect()

    def play(self, script: Iterable[Sequence[Any]], rest_ms: float = 3000) -> str:
        for wait_ms, name, action, *given in script:
            self.run(wait_ms / 1000)
            self._do(self.sides["abcdef".index(name)].mock, action, given)
        self.run(rest_ms / 1000)
        for mock in (side.mock for side in self.sides):
            self.lines.append(
                f"{mock.name}: {mock.baud_rate} bit/s, {mock.bits_per_byte} bit a byte"
            )
        return "\n".join([*self.lines, ""])

    def _do(self, mock: Any, action: bytes | str, given: Sequence[Any]) -> None:
        if isinstance(action, bytes):
            self.record(mock, ">", action)
            mock.receive(action, self.now)
        else:
            arguments = " ".join(map(str, given))
            self.lines.append(f"{self._instant()} {mock.name} . {action} {arguments}".rstrip())
            if action == "host_baud":
                mock.host_baud = given[0]
            elif action == "switch_off":
                mock.switch_off()
            elif action == "set":
                with self._errors(mock):
                    mock.set(*given)
            else:
                getattr(mock, action)(*given, self.now)
        self._collect()

    @contextlib.contextmanager
    def _errors(self, mock: Any) -> Any:
        try:
            yield
        except ValueError:
            self.lines.append(f"{self._instant()} {mock.name} ! ValueError")

    def _collect(self) -> None:
        for side in self.sides:
            side.collect()

    def record(self, mock: Any, way: str, data: bytes) -> None:
        first, *rest = _hex(data) or [""]
        self.lines.append(f"{self._instant()} {mock.name} {way} {first}")
        self.lines.extend(f"{'':>17}   {row}" for row in rest)

    def _instant(self) -> str:
        return f"{(self.now - 1000 * MS) / MS:>12.6f} ms"


def mock_names() -> list[str]:
    """The kinds of firmware mocks; a program of the user is none."""
    return [name for name in plugins.names(plugins.MOCKS) if name != PROGRAM]
