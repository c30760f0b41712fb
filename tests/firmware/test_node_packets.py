"""Framings and packets of the C library: the same as hilgw's and those of the firmware mocks."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks._framing.specs import framing_of
from hilgw.errors import FrameError
from hilgw.framing import create, parse
from hilgw.framing.base import Framing
from tests.cases import cases
from tests.e2e.running import free_port
from tests.firmware.node import FRAMINGS, LIBRARY, Link, library, main_of

pytestmark = [pytest.mark.process, pytest.mark.judge("gcc")]


NAMES = [name for name in FRAMINGS if name != "wc2ec"]
every = pytest.mark.parametrize("name", NAMES)
SIZE = 40  # bytes of the packet buffer: short enough that frames are too long
MS = 1_000_000

SPICE = b"\x00\x01\x7d\x7e\x5d\x5e\xc0\xdb\xdc\xdd\x0d\x0aab\xaa\x55\xff"
pieces = st.lists(
    st.lists(st.sampled_from(SPICE), min_size=1, max_size=4).map(bytes) | st.binary(max_size=40),
    max_size=6,
).map(b"".join)


def hilgw_of(name: str, limit: int) -> Framing:
    return create(replace(parse(name), max_payload=limit))


def both(name: str) -> tuple[Link, Framing]:
    link = Link(library(), name, size=SIZE)
    return link, hilgw_of(name, link.limit)


def encoded(framing: Framing, payload: bytes) -> bytes | None:
    try:
        return framing.encode(payload)
    except FrameError:
        return None


@every
@cases(1)
@given(payload=pieces | st.binary(min_size=250, max_size=600))
def test_what_is_sent(name: str, payload: bytes) -> None:
    link, mock = Link(library(), name), framing_of(name)
    frame = link.encode(payload)
    assert frame == encoded(hilgw_of(name, 600), payload)
    if frame is None:
        assert link.dropped == {"not_sent": 1}
    else:
        assert mock.feed(frame, 0, 0) == [payload]
        wide = Link(library(), name, size=700)
        assert wide.feed(frame) == [payload]


@every
@cases(2)
@given(data=st.data())
def test_what_is_received(name: str, data: st.DataObject) -> None:
    """Frames, damaged frames and noise: the same packets, and the same counts by reason."""
    link, framing = both(name)
    now = 0
    for _ in range(data.draw(st.integers(1, 4))):
        payload = data.draw(pieces)
        stream = encoded(hilgw_of(name, 600), payload) or payload
        stream = data.draw(damaged(stream) | pieces)
        expected = framing.feed(stream, now * MS) + expired(framing, now)
        assert link.feed(stream, now) == expected
        now += data.draw(st.sampled_from((1, 99, 100, 500)))
        assert link.read(now) == expired(framing, now)
    for later in (now + 200, now + 400):
        assert link.read(later) == expired(framing, later)
    assert link.dropped == {key: count for key, count in framing.dropped.items() if count}


def expired(framing: Framing, now_ms: int) -> list[bytes]:
    packets: list[bytes] = []
    while (due := framing.next_deadline()) is not None and due <= now_ms * MS:
        packets += framing.expire(now_ms * MS)
    return packets


@st.composite
def damaged(draw: st.DrawFn, frame: bytes) -> bytes:
    """A frame with bytes changed, lost or put in; often whole."""
    stream = bytearray(frame)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        if not stream:
            break
        place = draw(st.integers(0, len(stream) - 1))
        match draw(st.sampled_from(("change", "lose", "insert", "cut"))):
            case "change":
                stream[place] ^= 1 << draw(st.integers(0, 7))
            case "lose":
                del stream[place]
            case "insert":
                stream.insert(place, draw(st.sampled_from(SPICE)))
            case _:
                del stream[place:]
    return bytes(stream)


@every
@cases(0.5)
@given(data=pieces, cut=st.integers(0, 30))
def test_chunks_make_no_difference(name: str, data: bytes, cut: int) -> None:
    one, other = Link(library(), name, size=SIZE), Link(library(), name, size=SIZE)
    expected = one.feed(data)
    other.put(data[:cut])
    received = other.read()
    other.put(data[cut:])
    assert received + other.read() == expected
    assert other.dropped == one.dropped


@every
def test_a_queue_takes_all_of_a_frame_or_nothing(name: str) -> None:
    link = Link(library(), name, queue=20)
    assert link.send(b"0123456789")
    first = link.sent()
    assert link.send(b"0123456789")
    assert not link.send(b"0123456789"), "it does not fit beside the first"
    assert link.dropped == {"not_sent": 1}
    assert link.sent() == first
    assert link.sent() == b""


def test_bytes_beyond_the_queue_are_counted() -> None:
    link = Link(library(), "lines", queue=8)
    link.put(b"123456789\n")
    assert link.dropped == {"overrun": 3}
    assert link.read() == []
    assert link.feed(b"\n") == [b"1234567"]


def test_silence_is_not_seen_where_bytes_wait() -> None:
    """A loop that was late: the bytes came without a gap, but are read late."""
    link = Link(library(), "length")
    frame = link.encode(b"whole") or b""
    link.put(frame[:4])
    assert link.read(0) == []
    link.put(frame[4:])
    assert link.read(10_000) == [b"whole"]
    assert link.dropped == {}


@every
def test_a_buffer_without_room_receives_nothing(name: str) -> None:
    for size in range(8):
        link = Link(library(), name, size=size)
        frame = hilgw_of(name, 60).encode(b"12345678")
        assert link.feed(frame * 3, 0) == []
        link.read(1000)


LONG_S = 40.0  # for a machine that is busy
CONTROLLER = {
    "DEVICES": '{.name = "tx", .kind = HILGW_EMITTER}, {.name = "rx", .kind = HILGW_RECEIVER}, '
    '{.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR}',
    "INIT": "hilgw_controller_init(&robot, &line, devices, 3)",
    # What an XBee answers sets the wheel.
    "WORK": """
    (void)hilgw_controller_poll(&robot, now_ms);
    static bool is_sent;
    if (!is_sent) is_sent = hilgw_controller_send(&robot, 0, 12, (const uint8_t *)"fast 3", 6);
    if (robot.packet.data && robot.packet.length == 6 && robot.packet.strength > 0)
      (void)hilgw_controller_set(&robot, 2, (float)(robot.packet.data[5] - '0'));
    """,
}
BODY = {
    "DEVICES": '{.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR}, '
    '{.name = "tx", .kind = HILGW_EMITTER}, {.name = "rx", .kind = HILGW_RECEIVER}',
    "INIT": "hilgw_body_init(&robot, &line, devices, 3, hilgw_r2020a, 20)",
    # What it shall send comes back to its Receiver.
    "WORK": """
    (void)hilgw_body_poll(&robot, now_ms);
    hilgw_body_set(&robot, 0, hilgw_body_motor(&robot, 0, now_ms));
    if (robot.packet.data) {
      hilgw_packet echo = robot.packet;
      echo.device = 2;
      echo.strength = 0.5f;
      (void)hilgw_body_receive(&robot, &echo);
    }
    """,
}


def built(folder: Path, name: str, parts: dict[str, str]) -> str:
    source, target = folder / f"{name}.c", folder / f"{name}.elf"
    source.write_text(main_of(parts))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{LIBRARY.parent}"]
    command += [str(source), str(LIBRARY), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return str(target)


ROBOT = """
version: 1
webots: R2020a
robots:
  mouse:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, type: radio, channel: 12}
      rx: {node: Receiver, type: radio, channel: 12}
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true, original_peer: true,
           mock: {width: 9.0, depth: 9.0}}
    controller: {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, extensions: true,
                 mock: {program: "PROGRAM"}}
adapters:
  xbee0: {kind: xbee, port: /dev/ttyUSB0, channel: 12, air: lab, position: [1, 0, 0]}
airs:
  lab:
    nodes: {remote: {mock: xbee, channel: 12, position: [3, 0, 0], replies: {fast: pong}}}
"""


@pytest.mark.wall_clock("firmware that runs on this computer")
def test_a_controller_has_packets_on_the_medium(gateway: Any, tmp_path: Path) -> None:
    running = gateway(ROBOT.replace("PROGRAM", built(tmp_path, "controller", CONTROLLER)))
    running.mock("mouse").wait_for(lambda mock: mock.body.wheels[0] == 3.0, LONG_S)


CART = """
version: 1
webots: R2020a
robots:
  cart:
    body: {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, extensions: true,
           mock: {program: "PROGRAM"}}
    controller:
      {kind: wc2ec, listen: "tcp://127.0.0.1:20002", extensions: true,
       mock: {emitter: tx, receiver: rx, channel: 7, message: "turn {n}", message_ms: 100}}
"""


@pytest.mark.wall_clock("firmware that runs on this computer")
def test_a_body_sends_and_receives_packets(gateway: Any, tmp_path: Path) -> None:
    text = CART.replace("PROGRAM", built(tmp_path, "body", BODY))
    controller = gateway(text.replace("20002", str(free_port()))).mock("cart")
    controller.wait_for(lambda mock: mock.messenger.received >= 3, LONG_S)
    assert controller.wait_for(lambda mock: mock.messenger.last).startswith(b"turn ")
