"""Hostile answers, and the exact bytes of requests: the plug-in of tools/webots-plugin with the
compiler's sanitizers, on a socket of the test."""

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.plugin_host import (
    ACCELERATION,
    AVAILABLE_FORCE,
    AVAILABLE_TORQUE,
    FORCE,
    FORCE_PERIOD,
    NODES,
    POSITION,
    TORQUE,
    TORQUE_PERIOD,
    VELOCITY,
    Built,
    PluginHost,
)
from tests.e2e.running import DEADLINE_S, run_program

pytestmark = pytest.mark.judge("gcc", "make")

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
DEVICES = {  # name: node; tags 1, 2, ... at both ends
    "wheel": "RotationalMotor",
    "lift": "LinearMotor",
    "encoder": "PositionSensor",
    "ds": "DistanceSensor",
    "light": "LightSensor",
    "acc": "Accelerometer",
    "gyro": "Gyro",
    "compass": "Compass",
    "gps": "GPS",
    "touch": "TouchSensor",
    "touch3d": "TouchSensor",
    "led": "LED",
}
TAG = {name: tag for tag, name in enumerate(DEVICES, 1)}
END = struct.pack("<ii", 8, 0)  # the answer of a step without messages
ROBOT_NODE = 34
LONGEST_ANSWER = 1 << 18


def framed(messages: bytes, delay: int = 0) -> bytes:
    return struct.pack("<ii", 8 + len(messages), delay) + messages


def message(tag: int, command: int, *values: float) -> bytes:
    return struct.pack(f"<HB{len(values)}d", tag, command, *values)


def configuration(node: int = ROBOT_NODE, mode: int = 1) -> bytes:
    made = b"\0\0\0robot\0R2025a\0" + struct.pack("<BBHHd", 0, 0, len(DEVICES) + 1, node, 0.0)
    for name, kind in DEVICES.items():
        made += struct.pack("<H", NODES[kind]) + name.encode() + b"\0\0"
    made += struct.pack("<d", 32.0) + 7 * b"\0" + struct.pack("<BBi", 0, 0, mode)
    return framed(made + bytes(range(200)))  # the configurations of the devices are not read


class Gateway:
    """Accepts the plug-in's connections, one after the other; `serve` has each of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()

    def accept(self) -> socket.socket:
        self._listening.settimeout(DEADLINE_S)
        connection, _ = self._listening.accept()
        connection.settimeout(DEADLINE_S)
        return connection

    def close(self) -> None:
        self._listening.close()


def request_of(connection: socket.socket) -> tuple[int, dict[int, bytes]]:
    """Duration and the blocks by tag."""

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += connection.recv(size - len(data))
        return data

    (size,) = struct.unpack("<i", exactly(4))
    body = exactly(size - 4)
    blocks, begin = {}, 4
    while begin < len(body):
        tag, length = struct.unpack_from("<Hi", body, begin)
        blocks[tag] = body[begin + 6 : begin + 6 + length]
        begin += 6 + length
    return int.from_bytes(body[:4], "little"), blocks


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("sanitized"), SANITIZED)


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = Gateway(tmp_path_factory.mktemp("g") / "s")
    yield gateway
    gateway.close()


@pytest.fixture
def host(built: Built, gateway: Gateway) -> Iterator[PluginHost]:
    """It must end in order: no sanitizer has found anything."""
    with PluginHost(built, gateway.path.parent, "robot", DEVICES) as host:
        yield host
        assert host.finish() == 0, host.text()


def started(host: PluginHost, gateway: Gateway, answer: bytes) -> socket.socket:
    """The connection after the answer to the plug-in's first request."""
    host.emit(f"start {gateway.path}")
    connection = gateway.accept()
    assert request_of(connection) == (0, {0: b"\x23\0\0"})
    connection.sendall(answer)
    return connection


def exchanged(host: PluginHost, connection: socket.socket, answer: bytes) -> dict[int, bytes]:
    host.emit("step 32")
    duration, blocks = request_of(connection)
    connection.sendall(answer)
    host.wait_for("step")
    assert duration == 32
    return blocks


def test_a_size_that_is_not_possible(host: PluginHost, gateway: Gateway) -> None:
    """It does not wait for the rest."""
    for count, size in enumerate((LONGEST_ANSWER + 1, 7, 0, -1), 1):
        with started(host, gateway, struct.pack("<i", size)):
            assert host.wait_for("start") == "start 0"
        assert host.text().count("invalid answer") == count


def test_each_slot_is_the_command_of_libcontroller(host: PluginHost, gateway: Gateway) -> None:
    """In the order of libController, the newest value of each kind, once."""
    with started(host, gateway, configuration()) as connection:
        assert host.wait_for("start") == "start 1"
        for name, slots in (
            ("wheel", (TORQUE, AVAILABLE_TORQUE)),
            ("lift", (FORCE, AVAILABLE_FORCE)),
        ):
            for slot, value in zip(
                (*slots, ACCELERATION, VELOCITY, POSITION), range(5), strict=True
            ):
                host.motor(slot, name, -9)
                host.motor(slot, name, value + 0.5)
            host.emit(f"pid {TAG[name]} 1 2 3")
        host.emit(f"feedback {TORQUE_PERIOD} {TAG['wheel']} 64", f"led {TAG['led']} -2")
        host.emit(f"feedback {FORCE_PERIOD} {TAG['lift']} 0")  # as libController at each switch
        host.enable("gps", 48)
        blocks = exchanged(host, connection, END)
        fields = [(1, 4.5), (2, 3.5), (3, 1.5), (4, 0.5)]
        head = b"".join(struct.pack("<Hd", *field) for field in fields)
        tail = struct.pack("<Hd", 6, 2.5) + struct.pack("<H3d", 7, 1, 2, 3)
        assert list(blocks) == sorted(blocks)
        assert blocks == {
            TAG["wheel"]: head + struct.pack("<HH", 5, 64) + tail,
            TAG["lift"]: head + tail,
            TAG["led"]: struct.pack("<Bi", 1, -2),
            TAG["gps"]: struct.pack("<BH", 1, 48),
        }
        assert exchanged(host, connection, END) == {}


def test_each_message_is_the_value_the_controller_reads(host: PluginHost, gateway: Gateway) -> None:
    three = (0.1, 0.2, 0.3)
    values = {
        "wheel": (5, (1.5,)),
        "lift": (5, (2.5,)),
        "encoder": (1, (3.25,)),
        "ds": (50, (1000.0,)),
        "light": (55, (7.0,)),
        "acc": (51, three),
        "gyro": (53, three),
        "compass": (52, three),
        "touch": (40, (1.0,)),
        "touch3d": (41, three),
    }
    made = struct.pack("<HBd", 0, 4, 0.032)  # the time, which stays that of the simulation
    for name, (command, numbers) in values.items():
        made += message(TAG[name], command, *numbers)
    made += message(TAG["gps"], 2, *three, 4.0, 5.0, 6.0, 7.0)
    with started(host, gateway, configuration()) as connection:
        host.wait_for("start")
        host.emit("step 32")
        request_of(connection)
        immediate = framed(message(TAG["encoder"], 1, 9.0), delay=-1)  # another answer follows
        connection.sendall(immediate + framed(made))
        host.wait_for("step")
        read = {name: tuple(value) for name, value in host.values.items()}
        assert read.pop("gps") == (5.0, 6.0, 7.0)  # the velocity comes last
        assert read == {name: numbers for name, (_, numbers) in values.items()}
        assert not host.has_failed


def test_what_a_session_may_not_be(host: PluginHost, gateway: Gateway) -> None:
    other = framed(b"\0\0\0robot\0R2020a\0" + struct.pack("<BBHHd", 0, 0, 1, 30, 0.0))
    with started(host, gateway, other):
        assert host.wait_for("start") == "start 0" and "set webots:" in host.text()
    with started(host, gateway, END):
        assert host.wait_for("start") == "start 0"  # no configuration
    with started(host, gateway, configuration(mode=0)) as connection:
        assert host.wait_for("start") == "start 1" and "is not armed" in host.text()
        exchanged(host, connection, framed(b"\0\0\x02"))
        assert host.has_failed and "ended the session" in host.text()


def endless(connection: socket.socket) -> None:
    """Answers that never end the step."""
    with pytest.raises(OSError):
        while True:
            connection.sendall(framed(b"", delay=-1) * 100)


def test_an_answer_may_come_in_bytes(host: PluginHost, gateway: Gateway) -> None:
    with started(host, gateway, configuration()) as connection:
        host.wait_for("start")
        host.emit("step 32")
        request_of(connection)
        for byte in END:
            connection.sendall(bytes([byte]))
        host.wait_for("step")
        assert not host.has_failed


def test_nothing_waits_longer_than_its_deadline(
    gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A gateway that hangs at each point of a session, and one whose answers end no step."""
    hasty = Built(tmp_path_factory.mktemp("hasty"), answer_ms=300)
    with PluginHost(hasty, gateway.path.parent, "robot", DEVICES) as host:
        with started(host, gateway, b""):
            assert host.wait_for("start") == "start 0" and "does not answer" in host.text()
        for serve in (endless, lambda connection: None):
            with started(host, gateway, configuration()) as connection:
                if host.wait_for("start") == "start 0":
                    continue  # this machine took longer than the deadline
                host.emit("step 32")
                server = threading.Thread(target=serve, args=(connection,))
                server.start()
                host.wait_for("step")
                assert host.has_failed
                server.join()
        with started(host, gateway, configuration()):
            host.wait_for("start")
            host.ask("stop")
        assert host.finish() == 0


def hostile(rng: random.Random) -> bytes:
    """Anything: noise, messages of any kind in a good frame, good answers damaged."""
    kind = rng.randrange(4)
    noise = rng.randbytes(rng.randrange(1, 60))
    if kind == 0:
        return noise
    if kind == 1:
        return framed(noise)
    made = bytearray(configuration())
    if kind == 2:  # a value of any device, cut
        tag, command = rng.randrange(14), rng.choice([1, 2, 4, 5, 10, 40, 41, 50, 51, 55, 200])
        return framed(message(tag, command, *[0.5] * 7)[: rng.randrange(60)])
    for _ in range(rng.randrange(1, 6)):
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made[: rng.randrange(8, len(made))] if rng.random() < 0.3 else made)


def test_no_answer_crashes_it(host: PluginHost, gateway: Gateway) -> None:
    rng = random.Random(13)
    for _ in range(1000):
        first = configuration() if rng.random() < 0.7 else hostile(rng)
        connection = started(host, gateway, first)
        with contextlib.suppress(OSError):  # the plug-in has closed
            connection.sendall(hostile(rng) + hostile(rng))
            connection.shutdown(socket.SHUT_WR)
        host.wait_for("start")
        host.emit("step 32", "step 0", "failed")
        host.wait_for("failed")
        connection.close()
    assert host.process.poll() is None


def test_a_message_is_cut_where_the_longest_answer_ends(host: PluginHost, gateway: Gateway) -> None:
    """Behind it, no byte may be read."""
    time, mode = message(0, 4, 0.032), struct.pack("<HBi", 0, 10, 1)
    for cut in range(1, 11):
        room = LONGEST_ANSWER - 8 - cut
        modes = next(n for n in range(len(time)) if (room - n * len(mode)) % len(time) == 0)
        made = modes * mode + (room - modes * len(mode)) // len(time) * time + time[:cut]
        with started(host, gateway, configuration()) as connection:
            host.wait_for("start")
            exchanged(host, connection, framed(made))
            assert host.has_failed and host.text().count("invalid answer") == cut


def test_the_table_has_the_places_of_libcontroller(built: Built, tmp_path: Path) -> None:
    """Section "ABI" of the protocol's facts: names of slots at their places, 8 bytes each."""
    places = {
        0: "mandatory.wbr_start", 1: "mandatory.wbr_stop", 2: "mandatory.wbr_has_failed",
        3: "mandatory.wbr_stop_actuators", 4: "mandatory.wbr_robot_step",
        5: "wbr_custom_function", 6: "wbr_robot_battery_set_sampling_period",
        7: "wbr_set_sampling_period", 8: "wbr_camera_set_fov", 11: "wbr_led_set",
        12: "wbr_pen_set_ink_color", 14: "wbr_speaker_emit_sample",
        15: "wbr_motor_set_force_sampling_period", 16: "wbr_motor_set_torque_sampling_period",
        17: "wbr_motor_set_position", 18: "wbr_motor_set_acceleration",
        19: "wbr_motor_set_velocity", 20: "wbr_motor_set_force", 21: "wbr_motor_set_torque",
        22: "wbr_motor_set_available_force", 23: "wbr_motor_set_available_torque",
        24: "wbr_motor_set_control_pid", 25: "wbr_display_set_color",
        41: "wbr_display_image_save",
    }  # fmt: skip
    checks = [
        f'_Static_assert(offsetof(WbrInterface, {name}) == {place} * sizeof(void *), "{name}");'
        for place, name in places.items()
    ]
    checks.append('_Static_assert(sizeof(WbrInterface) == 42 * sizeof(void *), "size");')
    source = "#include <stddef.h>\n#include <webots/remote_control.h>\n" + "\n".join(checks)
    (tmp_path / "abi.c").write_text(source)
    done = run_program("gcc", "-fsyntax-only", "-I", str(built.headers), "abi.c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
