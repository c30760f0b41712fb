"""Minimal peers of a control loop, on plain sockets: a Webots robot, and an external controller.

Messages are made and read by the mocks' own reading of WC2EC, not by the gateway's.
"""

import contextlib
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from firmware_mocks.wc2ec import wire

TYPES = wire.types_of("R2020a")
DISTANCE, LINEAR, ROTATIONAL = TYPES.distance_sensor, TYPES.linear_motor, TYPES.rotational_motor
Devices = Sequence[tuple[int, str]]
CAB: Devices = ((DISTANCE, "ds"), (ROTATIONAL, "left"), (ROTATIONAL, "right"))
DEADLINE_S = 30.0


def set_value(index: int, amount: float) -> bytes:
    return wire.value(wire.SET_VALUE, ROTATIONAL, index, amount)


def sensor_data(index: int, amount: float) -> bytes:
    return wire.value(wire.SENSOR_DATA, DISTANCE, index, amount)


def configuration(
    robot_port: int,
    *,
    host: str = "127.0.0.1",
    body: str = "",
    more: str = "",
    controller: bool = True,
) -> str:
    """A gateway between a robot at this port and any controller; body, more: further keys of
    the body, of the robot and of the file. The robot is simulated unless body has another value."""
    connect = f'connect: "tcp://{host}:{robot_port}"'
    if "simulated:" not in body:
        connect += ", simulated: true"
    lines = ["version: 1", "backend: real", "webots: R2020a", "robots:", "  cab:"]
    lines.append(f"    body: {{kind: wc2ec, {connect}{', ' * bool(body)}{body}}}")
    if controller:
        lines.append('    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}')
    return "\n".join([*lines, more, ""])


class Peer:
    """One end of a connection, with the bytes received on it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = bytearray()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *messages: bytes) -> None:
        self.connection.sendall(b"".join(messages))

    def wait_for(self, data: bytes, deadline_s: float = DEADLINE_S) -> int:
        """Reads until these bytes have come and forgets up to their end; monotonic ns."""
        end = time.monotonic() + deadline_s
        while (begin := self.received.find(data)) < 0:
            self.read(end)
        now = time.monotonic_ns()
        del self.received[: begin + len(data)]
        return now

    def read(self, end: float) -> None:
        """Some bytes. Fails at `end` (monotonic s), and at the end of the stream."""
        ready, _, _ = select.select([self.connection], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"nothing came; before that: {bytes(self.received[-64:]).hex(' ')}"
        data = self.connection.recv(65536)
        assert data, f"the stream ended; before that: {bytes(self.received[-64:]).hex(' ')}"
        self.received += data

    def wait_for_end(self, deadline_s: float = DEADLINE_S) -> None:
        self.connection.settimeout(deadline_s)
        with contextlib.suppress(ConnectionResetError):
            while data := self.connection.recv(65536):
                self.received += data

    def messages(self) -> list[bytes]:
        messages = wire.whole_messages(bytes(self.received), TYPES, extended=True)
        assert messages is not None, self.received.hex(" ")
        return messages

    def finish(self) -> None:
        self.connection.close()

    def reset(self) -> None:
        """Close by RST."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def half_close(self) -> None:
        self.connection.shutdown(socket.SHUT_WR)


class RobotServer:
    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def accept(self, devices: Devices = CAB, deadline_s: float = DEADLINE_S) -> Peer:
        """The gateway connects, and the robot registers its devices."""
        self._listening.settimeout(deadline_s)
        robot = Peer(self._listening.accept()[0])
        robot.send(*registrations(devices))
        return robot

    def close(self) -> None:
        self._listening.close()


def registrations(devices: Devices) -> list[bytes]:
    return [
        wire.registration(kind, index, name.encode()) for index, (kind, name) in enumerate(devices)
    ]


def knock(port: int) -> Peer:
    """Connects, before any device is registered."""
    return Peer(socket.create_connection(("127.0.0.1", port), DEADLINE_S))


def connect(port: int, devices: Devices = CAB) -> Peer:
    """A controller that has received these devices."""
    controller = knock(port)
    try:
        controller.wait_for(b"".join(registrations(devices)))
    except BaseException:
        controller.finish()
        raise
    return controller


def port_in(text: str) -> int:
    """The port on which a gateway listens, from its output; 0 before it prints the port."""
    _, separator, rest = text.partition("listening on 127.0.0.1:")
    return int(rest.split()[0]) if separator and rest.split() else 0


CONTROLLER = """
import socket, sys

connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.recv(65536)
connection.sendall(bytes.fromhex(sys.argv[2]))
print("sent", flush=True)
while connection.recv(65536):
    pass
"""


@contextlib.contextmanager
def controller_process(port: int, command: bytes) -> Iterator[int]:
    """A process of its own that has connected and sent `command`; yields its pid."""
    program = (sys.executable, "-I", "-S", "-c", CONTROLLER, str(port), command.hex())
    with subprocess.Popen(program, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"sent\n"
            yield child.pid
        finally:
            child.kill()


def write_configuration(folder: Path, text: str) -> str:
    path = folder / "loop.yaml"
    path.write_text(text)
    return str(path)
