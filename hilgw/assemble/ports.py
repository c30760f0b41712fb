"""Serial ports: hardware, or mocks instead; and the mocks that are alone in the air.

A session of each station, of the recorded configuration, gets the input of its station: the
received bytes, the packets, the time. Its own output is ignored: that is in the recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.adapters.base import Adapter, StationSettings, Transmission, UsbId
from hilgw.config.load import recorded
from hilgw.config.model import AdapterConfig, Backend, GatewayConfig, PartBackend
from hilgw.config.queries import REAL_TIME, backend_of, has_nodes, is_mocked
from hilgw.config.scene import air_of, mount_of
from hilgw.discovery.ports import (
    exists,
    port_identity,
    reset_notice,
    resolve_port,
    usb_ids,
)
from hilgw.engine.lines import STALL_S, Port
from hilgw.engine.mock_host import Air, Mock, MockHost, create_mock
from hilgw.engine.observer import Direction
from hilgw.engine.station.line import FrameTap
from hilgw.errors import AdapterError, DepartureError
from hilgw.events.words import frame_line
from hilgw.medium.packet import Packet
from hilgw.medium.pose import IDENTITY
from hilgw.plugins import ADAPTERS, load, load_mock, new_air
from hilgw.protocols.pcapng.events import TIMES
from hilgw.record.script import CONNECTED
from hilgw.settings import MockSpec
from hilgw.transports.base import DeviceSide, LineSettings, Transport, describe_modem_lines
from hilgw.transports.serial import tty
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.urls import kind_of
from hilgw.transports.virtual.pty import VirtualPort
from hilgw.units import ns_to_s

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway
    from hilgw.record.replay import Replay
    from hilgw.transports.serial.modem_line import ModemLine


def decoders_of(head: Mapping[str, Any], where: str) -> dict[str, StationDecoder]:
    """Return the decoder of each station, by this head of a recording from any machine.

    Raises:
      HilgwError: the configuration in the head is invalid.
    """
    config = recorded({**head, "config": where})
    return {
        name: StationDecoder(name, load(ADAPTERS, each.kind).session(each.settings, each.common))
        for name, each in config.adapters.items()
    }


def with_frames(
    events: Iterable[dict[str, Any]], decoders: Mapping[str, StationDecoder]
) -> Iterator[dict[str, Any]]:
    """Yield these events, from the start on, each followed by its frames."""
    for event in events:
        yield event
        for name in event.get("received_by") or [str(event.get("part", event.get("name")))]:
            if name in decoders:
                yield from decoders[name].frames(event)


class StationDecoder:
    """Decoder of the frames of one station's events. session: of its adapter, and new."""

    def __init__(self, name: str, session: Any) -> None:
        self._session, self._tap = session, FrameTap(self._on_frame)
        self._name, self._is_open = name, False
        self._found: list[dict[str, Any]] = []
        self._own: deque[bytes] = deque(maxlen=1000)  # frames that the session would send
        self._packets: deque[Packet] = deque(maxlen=1000)

    def frames(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        self._found, self._times = [], {key: event[key] for key in TIMES}
        try:
            self._take(event, event["time_ns"])
        except Exception as error:  # as in a station: adapters raise anything
            raise AdapterError(f"failed on a frame: {error!r:.200}", where=self._name) from error
        return self._found

    def _take(self, event: dict[str, Any], now: int) -> None:
        match event:
            case {"event": "packet", "channel": channel, "type": type, "source": source}:
                self._packets.append(Packet(bytes.fromhex(event["data"]), channel, type, source))
            case {"event": "port", "state": state}:
                if (state in CONNECTED) is not self._is_open:
                    self._is_open = not self._is_open
                    self._tap.flush()
                    self._tap.answered(
                        self._session.open(now) if self._is_open else self._session.close()
                    )
            case {"event": "bytes", "direction": direction, "data": text}:
                data, due = bytes.fromhex(text), self._session.next_deadline() or now
                self._tap.answered(self._session.expire(min(due, now)))
                if direction == Direction.RECEIVED:
                    self._tap.received(data)
                    self._tap.answered(self._session.receive(data, now))
                else:
                    self._sent(data, now)

    def _sent(self, data: bytes, now: int) -> None:
        self._show(Direction.SENT, data)
        while data not in self._own and self._packets:  # the session must know of frames of packets
            frame = self._session.send(self._packets.popleft(), now)
            if isinstance(frame, Transmission):
                self._own.append(frame.data)
        if data in self._own:
            self._own.remove(data)

    def _on_frame(self, direction: Direction, data: bytes) -> None:
        self._own.append(data) if direction is Direction.SENT else self._show(direction, data)

    def _show(self, direction: Direction, data: bytes) -> None:
        self._found.append(
            {
                "event": "frame",
                **self._times,
                "station": self._name,
                "direction": str(direction),
                "data": data.hex(),
                "text": self._session.describe(data),
            }
        )


# Put the mock of a part behind this device; return its description for the user.
PlaceMock = Callable[[DeviceSide], str]


class Assembly:
    """The state that all steps of a build share: the configuration, and the gateway."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self.config, self.gateway = config, gateway

    def describe(self, name: str, text: str) -> None:
        """Add a line about this part to the description at the start."""
        self.gateway.description.append(f"  {name:<12} {text}")

    def new_host(self, air: Air) -> MockHost:
        """Make the host of the mocks in an air; it ends with the gateway."""
        gateway = self.gateway
        host = MockHost(
            gateway.timer,
            air,
            lambda *notice: gateway.observer.notice(*notice),
            lambda *line: gateway.observer.output(*line),
        )
        gateway.hosts.append(host)
        gateway.opened.callback(host.close)
        return host


class Ports(Assembly):
    """The ports of one configuration, and the mocks behind them, one host for each air.

    This class makes all that opens or listens for a part.
    """

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        super().__init__(config, gateway)
        self.replays = Replays(config, gateway)
        self._hosts: dict[str, MockHost] = {}

    def described(
        self,
        name: str,
        words: str,
        port: str | UsbId,
        line: LineSettings,
        boot_s: float,
        mock: PlaceMock,
    ) -> Port:
        """Make the serial port of a part, and describe it with the `words` for its kind."""
        made = self.serial(name, port, line, boot_s, mock)
        owner, _, role = name.partition(".")
        self.describe(owner, f"{words}: {made.where}, {line.baudRate} baud")
        if lines := self._modem_lines(name, port, line, boot_s):
            self.describe(owner, f"{role}: {lines}" if role else lines)
        return made

    def serial(
        self, name: str, port: str | UsbId, line: LineSettings, boot_s: float, mock: PlaceMock
    ) -> Port:
        """Return the serial port of a part."""
        where = str(port)
        if not is_mocked(self.config, name):
            return self._real(port, where, line, boot_s)
        timer, backend = self.gateway.timer, backend_of(self.config, name)
        if backend is Backend.REPLAY:
            return self.replays.serial(name, where, boot_s)
        if backend is Backend.LOOPBACK or self.config.speed != REAL_TIME:
            from hilgw.transports.virtual.pipe import Pipe

            pipe = Pipe(timer, line, name=f"loopback:{name}")
            where += mock(pipe.device)
            return Port(
                where,
                lambda: pipe.open(line),
                lambda: id(pipe) if pipe.device.plugged else None,
                boot_s,
            )
        pty = self._virtual(None, baud_rate=line.baudRate, bits_per_byte=line.byteSize)
        where += mock(pty)
        return Port(
            where,
            lambda: open_serial(pty.path, line, timer, modem_lines=pty.set_modem_line),
            lambda: port_identity(pty.path),
            boot_s,
            stall_s=_stall_s(line),
        )

    def _real(self, port: str | UsbId, where: str, line: LineSettings, boot_s: float) -> Port:
        timer, urls = self.gateway.timer, self.config.network_ports

        async def open_port() -> Transport:
            path = resolve_port(port)
            transport = await open_serial(path, line, timer, allow_urls=urls)
            notice = reset_notice(*usb_ids(path), boot_s=boot_s)
            if notice:
                transport.notices.append(notice)
            return transport

        return Port(
            where,
            open_port,
            lambda: exists(port),
            boot_s,
            stall_s=_stall_s(line),
            path=None if "://" in where else lambda: resolve_port(port),
        )

    def _modem_lines(self, name: str, port: str | UsbId, line: LineSettings, boot_s: float) -> str:
        if is_mocked(self.config, name):
            return ""
        is_device = not isinstance(port, str) or kind_of(port, True) == "device"
        if not is_device or tty.is_pseudo_terminal_path(str(port)):
            return ""
        wait = f"; {boot_s:g} s of silence for the board to start" if boot_s else ""
        return describe_modem_lines(line) + wait

    def modem_line(self, port: str | UsbId, line: str) -> Callable[[], ModemLine]:
        """Return a function that opens one input of a real port; it blocks."""
        from hilgw.transports.serial.modem_line import open_modem_line

        return lambda: open_modem_line(
            resolve_port(port), line, allow_urls=self.config.network_ports
        )

    # --- mocks ------------------------------------------------------------------------------------

    def _virtual(self, link: str | None, **line: int) -> VirtualPort:
        pty = VirtualPort(self.gateway.timer, link, **line)
        self.gateway.opened.callback(pty.close)
        return pty

    def host(self, name: str, spec: MockSpec, device: DeviceSide) -> str:
        """Run a mock in an air of its own behind this device; return a word about it."""
        host = self.new_host(new_air())
        host.add(create_mock(spec.name, name, host.air, spec.parameters), device)
        return f" (mock {spec.name})"

    def place(self, name: str, config: AdapterConfig, device: DeviceSide) -> str:
        """Put the mock of this adapter behind its port; return its description for the user."""
        loopback = backend_of(self.config, name) is Backend.LOOPBACK
        adapter: Adapter = load(ADAPTERS, config.kind)
        spec = adapter.mock(config.settings, config.common).on_line(config.common.baudRate)
        host = self._host(air_of(config, name))
        host.add(self._mock(spec, name, config.common, host), device)
        return f" ({'loopback: ' if loopback else ''}mock {spec.name})"

    def _mock(self, spec: MockSpec, name: str, common: StationSettings, host: MockHost) -> Mock:
        mock = create_mock(spec.name, name, host.air, spec.parameters, common.position or ORIGIN)
        if "position" in load_mock(spec.name).parameters:
            robot = common.attached_to
            mount = mount_of(common.position, common.rotation) if robot else IDENTITY
            self.gateway.scene.follow(
                robot or name,
                mount,
                lambda pose: mock.set("position", ",".join(map(str, pose.position))),
            )
        return mock

    def add_nodes(self) -> None:
        """Add the mocks that the airs of the configuration list."""
        for air, config in self.config.airs.items():
            if not has_nodes(self.config, air):
                continue
            host = self._host(air)
            for name, node in config.nodes.items():
                parameters: dict[str, Any] = dict(node.parameters)
                if node.replies:
                    parameters["replies"] = dict(node.replies)
                mock = create_mock(node.mock, name, host.air, parameters, node.position or ORIGIN)
                host.add(mock, None if node.link is None else self._virtual(node.link))
                where = f", open it at {node.link}" if node.link else ""
                self.describe(name, f"mock {node.mock} in air {air}{where}")

    def _host(self, air: str) -> MockHost:
        host = self._hosts.get(air)
        if host is None:
            config = self.config.airs.get(air)
            space = new_air(config.seed, config.loss) if config else new_air()
            host = self._hosts[air] = self.new_host(space)
        return host


ORIGIN = (0.0, 0.0, 0.0)


# --- recordings -----------------------------------------------------------------------------------


def _stall_s(line: LineSettings) -> float:
    """Return how long a port may take no byte.

    A driver with a full buffer takes the next byte when nearly all of it has left.
    """
    return ns_to_s(line.patience_ns(DRIVER_BYTES, STALL_S))


DRIVER_BYTES = 4096  # Linux: UART_XMIT_SIZE, include/linux/serial_core.h
MOST_SHOWN = 10
"""Departures of a part that the user reads; the report counts all."""


class Replays(Assembly):
    """The replays of one configuration.

    words: the meaning of hilgw's bytes, by part; openings: `hello` and `compared` of a `Replay`, of
    parts that have these.
    """

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        super().__init__(config, gateway)
        self.words: dict[str, Callable[[bytes], str]] = {}
        self.openings: dict[str, tuple[tuple[bytes, bytes], Callable[[bytes], bytes]]] = {}

    def place(self, name: str) -> Callable[[DeviceSide], str] | None:
        """Return a function that puts this part's recording behind a device; None without one."""
        if backend_of(self.config, name) is not Backend.REPLAY:
            return None
        return lambda device: self._host(name, device)

    def serial(self, name: str, where: str, boot_s: float) -> Port:
        """Return a serial port with a recording behind it, whose times need no line."""
        from hilgw.transports.tcp.device import TcpServerDevice
        from hilgw.transports.tcp.in_process import InProcessNetwork

        network = InProcessNetwork()
        device = TcpServerDevice("127.0.0.1", 0, network.listen)
        where += self._host(name, device)

        async def open_port() -> Transport:
            return await network.connect(*await device.listen())

        return Port(where, open_port, boot_s=boot_s)

    def _host(self, name: str, device: DeviceSide) -> str:
        from hilgw.record.replay import Replay
        from hilgw.record.script import scripts_of

        robot, _, key = name.partition(".")
        parts = self.config.robots[robot].parts if key else self.config.adapters
        own = parts[key or name].own
        file = Path(own.recording or "")
        replay: Replay = Replay(
            name,
            scripts_of(file)[name].at(own.from_s),
            lambda *departure: self._departed(replay, own, *departure),
            *self.openings.get(name, ()),
        )
        self.new_host(new_air()).add(replay, device)
        self.gateway.replays[name] = replay
        return f" (replay of {file.name})"

    def _departed(self, replay: Replay, own: PartBackend, number: int, *frames: bytes) -> None:
        name, count, words = replay.name, replay.departures, self.words[replay.name]
        shown = [frame_line("sent", each, words(each)) if each else "nothing" for each in frames]
        text = f"departs from the recording at frame {number} of {replay.frames}; expected: "
        text += "; sent: ".join(shown)
        if count <= MOST_SHOWN:
            more = "; further ones are counted only" if count == MOST_SHOWN else ""
            self.gateway.observer.notice(name, text + more)
        if own.on_departure == "stop":
            self.gateway.end(DepartureError(text, where=name))
