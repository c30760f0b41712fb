"""Changed inputs for the readers that a stranger can reach, and what each may raise."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable

from hilgw.errors import HilgwError
from hilgw.federation import wire
from hilgw.protocols.gateway.requests import decode_request
from hilgw.protocols.webots.requests import RequestReader, encode_request
from hilgw.record.events import Decoder, Writer
from hilgw.record.pcapng import Reader
from hilgw.security.access import Access
from hilgw.web.access import Visitors
from hilgw.web.stop_answer import answer
from hilgw.worlds.configuration import configuration
from hilgw.worlds.parser import parse

TOKEN = b"t" * 32
HEADERS = {"host": "127.0.0.1:1", "origin": "http://127.0.0.1:1"}
STATE = wire.State("00" * 8, listeners={"rx": wire.ListenerState("radio", [1])}, robots={"r": []})
QUERY = wire.LinkQuery("desk", "00" * 8, {"radio": 5})


def _recording(data: bytes) -> None:
    left, decoder = bytearray(data), Decoder("fuzz")

    def read(size: int) -> bytes:
        taken = bytes(left[:size])
        del left[:size]
        return taken

    for block in Reader(read, "fuzz"):
        decoder.decode(block)


def _federation(data: bytes) -> None:
    for kind in (wire.State, wire.LinkQuery, wire.LinkAnswer, wire.NetworkCounts, wire.AirSent):
        try:
            wire.decode_json(kind, data)
        except wire.Malformed:
            pass
    head, _, rest = data.partition(b"\0")
    wire.member_key(data.decode("latin-1"))
    wire.packet_key(data.decode("latin-1"))
    wire.decode_head(head)
    wire.decode_trailer(rest, 7)


def _controller(data: bytes) -> None:
    reader = RequestReader()
    reader.feed(data)
    while reader.next() is not None:
        pass


def _page(data: bytes) -> None:
    access = Access([("run", "admin", TOKEN.decode())])
    visitors = Visitors(access, ["127.0.0.1"], [1, 2], local=True)
    text = data.decode("latin-1")
    visitors.grant(text, text)
    headers = HEADERS | {"origin": text, "host": text}
    answer(visitors, "run", "GET", f"/{text}", headers, data)


def _world(data: bytes) -> None:
    configuration(parse(data, "fuzz"), "fuzz")


READERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "recordings": (
        _recording,
        Writer({"configuration": "version: 1\n", "arguments": []}, ["uart0"], 10**18).begin(0),
    ),
    "worlds": (
        _world,
        b'#VRML_SIM R2025a utf8\nRobot { name "a" children [ DEF E Emitter { channel 4 } USE E ] }',
    ),
    "control socket": (
        decode_request,
        b'{"do":"send","station":"rover.tx","data":"00ff","channel":5,"version":1}\n',
    ),
    "federation": (_federation, wire.encode_json(STATE) + b"\0" + wire.trailer(1, 2, [(7, 3)])),
    "links": (_federation, wire.encode_json(QUERY)),
    "controllers": (_controller, encode_request(32, [(0, b"\x01\x02"), (1, b"\x03" * 9)])),
    "page": (_page, b"stop/?a=b&token=" + TOKEN),
}
EXPECTED = (HilgwError, ValueError, RecursionError)


def changed(data: bytes, by: random.Random) -> bytes:
    """A copy with some bytes changed, left out, doubled or put elsewhere."""
    made = bytearray(data)
    for _ in range(by.randint(1, 6)):
        begin = by.randrange(len(made) + 1)
        end = min(len(made), begin + by.choice((1, 1, 2, 4, 16)))
        match by.randrange(5):
            case 0:
                made[begin:end] = by.randbytes(end - begin)
            case 1:
                del made[begin:end]
            case 2:
                made[begin:begin] = made[begin:end] * by.randint(1, 3)
            case 3:
                made[begin:end] = by.choice((b"\0", b"\xff" * 4, b"9" * 30, b"{", b"[", b"\\u"))
            case _:
                made[begin:begin] = by.choice((b"-", b"1e999", b'"', b"\r\n", b"null", b"\x80"))
    return bytes(made)


def failure(name: str, seed: int) -> str:
    """What this reader raised and does not declare; empty: nothing."""
    read, data = READERS[name]
    try:
        read(changed(data, random.Random(seed)))
    except EXPECTED:
        return ""
    except Exception:  # noqa: BLE001 - that is what is looked for
        return traceback.format_exc()
    return ""
