"""Changed inputs for the readers that a stranger can reach, and what each may raise."""

import random
import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from hilgw.client.arming import Disarmed
from hilgw.control.events import StepRequest
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.kinds import Device
from hilgw.devices.properties import RotationalMotorFields
from hilgw.engine.listening import Listening
from hilgw.engine.reporting.metrics_server import MetricsServer
from hilgw.errors import ConfigError, UsageError
from hilgw.federation import wire
from hilgw.protocols.gateway.messages import VersionError
from hilgw.protocols.gateway.requests import decode_request
from hilgw.protocols.pcapng.blocks import Reader, RecordingError, resync
from hilgw.protocols.pcapng.events import BlockDecoder, Writer
from hilgw.protocols.rfc2217 import Purge, Server as Rfc2217Server, Setting
from hilgw.protocols.webots.handshake import decode_hello
from hilgw.protocols.webots.requests import encode_request
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.security.access import Access, TokenCheck
from hilgw.testing.sim import Clock
from hilgw.web.access import Visitors
from hilgw.web.stop_server import answer
from hilgw.worlds.configuration import configuration
from hilgw.worlds.parser import parse

TOKEN = "t" * 32
ACCESS = Access([("run", "admin", TOKEN)])
VISITORS = Visitors(ACCESS, ["127.0.0.1"], [1, 2], local=True)
HEADERS = {"host": "127.0.0.1:1", "origin": "http://127.0.0.1:1"}
STATE = wire.GatewayState(
    "00" * 8, listeners={"rx": wire.ListenerState("radio", [1])}, robots={"r": []}
)
QUERY = wire.LinkQuery("desk", "00" * 8, {"radio": 5})
COUNTS = wire.NetworkCounts("desk", "00" * 8, {}, {}, [], {"field": {}})
HEAD = wire.Head("rover.tx", owner="rover", position=(0.0, 1.0, 2.0))
METRICS = MetricsServer(
    Listening("127.0.0.1", 0, check_token=TokenCheck(ACCESS, "monitor", lambda: 0, limited=False)),
    lambda: iter(["up 1\n"]),
    Clock(),
)
DEVICES = (
    Device(name="wheel", kind="RotationalMotor", index=0, fields=RotationalMotorFields()),
    Device(name="tx", kind="Emitter", index=1, fields=EmitterFields()),
    Device(name="rx", kind="Receiver", index=2, fields=ReceiverFields()),
    Device(name="led", kind="LED", index=3),
)


def _recording(data: bytes) -> None:
    left, decoder = bytearray(data), BlockDecoder("fuzz")

    def read(size: int) -> bytes:
        taken = bytes(left[:size])
        del left[:size]
        return taken

    for block in Reader(read, "fuzz"):
        decoder.decode(block)


def _recorded() -> bytes:
    writer = Writer({"configuration": "version: 1\n", "arguments": []}, ["uart0"], 10**18)
    return (
        writer.begin(0)
        + writer.event(1, {"event": "clock", "mono_ns": 5, "wall_s": 1e9})
        + writer.event(2, {"event": "output", "source": "a", "line": "b"})
        + writer.line(3, "uart0", b"\x01\x02", sent=True)
    )


def _captured() -> bytes:
    """A capture of another program: big-endian, with options of time."""

    def block(kind: int, body: bytes) -> bytes:
        return struct.pack(">II", kind, 12 + len(body)) + body + struct.pack(">I", 12 + len(body))

    options = struct.pack(">HHB3xHHqI", 9, 1, 6, 14, 8, 100, 0)
    return (
        block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
        + block(1, struct.pack(">HHI", 147, 0, 0) + options)
        + block(6, struct.pack(">IIIII", 0, 1, 2, 4, 4) + b"abcd") * 3
    )


def _capture(data: bytes) -> None:
    resync(data, 2)
    _recording(data)


def _state(data: bytes) -> None:
    wire.decode_json(wire.GatewayState, data)


def _link(data: bytes) -> None:
    for kind in (wire.LinkQuery, wire.LinkAnswer, wire.NetworkCounts, wire.AirSent):
        with suppress(wire.Malformed):
            wire.decode_json(kind, data)


def _packet(data: bytes) -> None:
    """Key and attachment as Zenoh gives them: no other keys are subscribed to."""
    key, _, attachment = data.partition(b"\n")
    head, _, trailer = attachment.partition(b"\0")
    for read, given in ((wire.packet_key, key), (wire.member_key, key)):
        with suppress(wire.Malformed):
            read("hilgw/main/" + given.decode("latin-1"))
    with suppress(wire.Malformed):
        wire.decode_head(head)
    wire.decode_trailer(trailer, 7)


def _controller(data: bytes) -> None:
    robot = RobotConfiguration(name="rover", basicTimeStep=32.0, controller="c", mode=1)
    session = WebotsControllerSession(robot)
    for device in DEVICES:
        session.register(device)
    session.open(0)
    for received in (encode_request(0, []), data):
        if any(isinstance(each, StepRequest) for each in session.receive(received, 0)):
            session.answer(0)
    session.close()


def _hello(data: bytes) -> None:
    decode_hello(data)


def _page(data: bytes) -> None:
    text = data.decode("latin-1")
    VISITORS.grant(text, text)
    VISITORS.may_stop(HEADERS | {"origin": text, "host": text}, text)
    target, _, form = data.partition(b"\n")
    headers = HEADERS | {"origin": text, "host": text}
    for method in ("GET", "POST"):
        answer(VISITORS, "run", method, f"/{target.decode('latin-1')}", headers, form, _no_stop)


def _no_stop() -> Disarmed:
    return Disarmed()


def _metrics(data: bytes) -> None:
    METRICS.answer(data, "192.0.2.1:5")


def _rfc2217(data: bytes) -> None:
    server = Rfc2217Server()
    server.open()
    for event in server.feed(data):
        if isinstance(event, Setting) and event.value is not None:
            server.answer(event.name, event.value)
        elif isinstance(event, Purge):
            server.purged(event)


def _world(data: bytes) -> None:
    configuration(parse(data, "fuzz"), "fuzz")


@dataclass(frozen=True)
class Fuzzed:
    """One reader. inputs: valid ones, which are changed. declared: what it may raise."""

    read: Callable[[bytes], object]
    inputs: tuple[bytes, ...]
    declared: tuple[type[Exception], ...] = ()


_SENT = b"\0" + struct.pack("<idi", 3, 2.0, 2) + b"ab"  # by an Emitter
READERS = {
    "recordings": Fuzzed(_recording, (_recorded(),), (RecordingError,)),
    "pcapng": Fuzzed(_capture, (_captured(),), (RecordingError,)),
    "worlds": Fuzzed(
        _world,
        (
            b'#VRML_SIM R2025a utf8\nRobot { name "a" children [ DEF E Emitter { channel 4 } '
            b"USE E HingeJoint { device [ RotationalMotor { maxVelocity 5 } ] } ] }",
            b'#VRML_SIM R2023b utf8\nEXTERNPROTO "a/E-puck.proto"\nE-puck { translation 1 2 3 }',
        ),
        (ConfigError,),
    ),
    "control socket": Fuzzed(
        decode_request,
        (
            b'{"do":"send","station":"rover.tx","data":"00ff","channel":5,"version":1}\n',
            b'{"do":"arm","robots":["rover"],"all":false,"version":1}\n',
            b'{"do":"disarm","robots":["rover"]}\n',
        ),
        (UsageError, VersionError),
    ),
    "federation: states": Fuzzed(_state, (wire.encode_json(STATE),), (wire.Malformed,)),
    "federation: links": Fuzzed(_link, (wire.encode_json(QUERY), wire.encode_json(COUNTS))),
    "federation: packets": Fuzzed(
        _packet,
        (
            b"packet/desk/radio/5\n" + wire.encode_json(HEAD) + wire.trailer(1, 2, [(7, 3)]),
            b"member/desk/00000000000000ff/4\n" + wire.trailer(1, 2, [(7, 3), (8, 4)]),
        ),
        (wire.Malformed,),
    ),
    "controllers": Fuzzed(
        _controller,
        (
            encode_request(32, [(1, b"\1\0" + bytes(8) + b"\2\0" + bytes(8)), (3, b"\1\x20\0")]),
            encode_request(0, [(0, b"\x21"), (2, _SENT), (4, b"\1\7\0\0\0")]),
            encode_request(8, [(1, b"\x08\0\x34\0"), (2, _SENT + b"\1\4\0\0\0" + _SENT)]),
        ),
    ),
    "handshake": Fuzzed(_hello, (b"CTR\nRobot-Name: rover%20a",), (ProtocolError,)),
    "page": Fuzzed(_page, (b"stop/?a=b\na=b&token=" + TOKEN.encode(), b"127.0.0.1:1")),
    "metrics": Fuzzed(
        _metrics,
        (f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode(),),
    ),
    "bridge": Fuzzed(
        _rfc2217,
        (bytes.fromhex("fffd00 fffb2c fffa2c0100002580fff0 fffa2c0501fff0 fffa2c0c03fff0 6162"),),
    ),
}
_PIECES = (
    *(b"\0", b"\xff", b"\xff" * 4, b"\x80", b"9" * 30, b"{", b"[", b"}", b"]", b"\\u", b"\\ud800"),
    *(b"-", b"1e999", b"NaN", b"-1", b"0.5", b'"', b"\r\n", b"\n", b"null", b"true", b"/", b"%"),
)


def changed(data: bytes, by: random.Random) -> bytes:
    """A copy with some bytes changed, left out, doubled or put elsewhere."""
    made = bytearray(data)
    for _ in range(1 + int(by.random() * 6)):
        begin = int(by.random() * (len(made) + 1))
        end = min(len(made), begin + (1, 1, 2, 4, 16)[int(by.random() * 5)])
        match int(by.random() * 5):
            case 0:
                made[begin:end] = by.randbytes(end - begin)
            case 1:
                del made[begin:end]
            case 2:
                made[begin:begin] = made[begin:end] * (1 + int(by.random() * 3))
            case 3:
                made[begin:end] = _PIECES[int(by.random() * len(_PIECES))]
            case _:
                made[begin:begin] = _PIECES[int(by.random() * len(_PIECES))]
    return bytes(made)


def failure(name: str, seed: int) -> str:
    """What this reader raised and does not declare; empty: nothing."""
    reader, by = READERS[name], random.Random(seed)
    try:
        reader.read(changed(reader.inputs[seed % len(reader.inputs)], by))
    except reader.declared:
        return ""
    except Exception:  # noqa: BLE001 - that is what is looked for
        return traceback.format_exc()
    return ""
