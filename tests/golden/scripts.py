"""What is sent to each firmware mock, byte by byte: SCRIPTS[kind][variant] is the modules of one
air and a script as `running.Modules` plays it. Nothing in here comes from hilgw or the mocks."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Script = list[Sequence[Any]]
Variant = tuple[list[tuple[str, Mapping[str, Any]]], Script]


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def lines(who: str, wait_ms: float, end: bytes, *texts: bytes) -> Script:
    return [(wait_ms, who, text + end) for text in texts]


# --- hc12 -----------------------------------------------------------------------------------------

HC12_COMMANDS = (
    b"AT", b"AT+RX", b"AT+RB", b"AT+RC", b"AT+RF", b"AT+RP", b"AT+V", b"AT+C007", b"AT+C128",
    b"AT+P3", b"AT+P9", b"AT+FU1", b"AT+FU4", b"AT+FU9", b"AT+FU3", b"AT+B19200", b"AT+B123",
    b"AT+U8E1", b"AT+U8N1", b"nonsense", noise(1, 12), b"AT+RX", b"AT+B9600", b"AT+DEFAULT",
    b"AT+RX",
)  # fmt: skip


def hc12() -> Iterator[tuple[str, Variant]]:
    commands: Script = [
        (300, "a", "set_modem_line", "dtr", True),
        *((100, "a", each) for each in HC12_COMMANDS),
        (100, "a", b"AT+SLEEP"),
        (50, "a", "set_modem_line", "dtr", False),
        (300, "a", b"asleep"),
    ]
    yield "commands", ([("hc12", {"set_by": "dtr"}), ("hc12", {})], commands)
    odd = {"set_by": "rts", "set_low": "off", "spelling": "long", "unknown": "ERROR", "B": 19200}
    other = [(w, who, *(("set_modem_line", "rts", not g[2]) if g[0] == "set_modem_line" else g))
             for w, who, *g in commands]  # fmt: skip
    yield "spelling", ([("hc12", odd)], other)
    for mode, rate in ((1, 9600), (2, 4800), (3, 115200), (4, 1200)):
        given = {"FU": mode, "B": rate, "C": 21}
        exchange: Script = [
            (300, "a", b"hello"),
            (500, "b", b"hi"),
            (0, "a", b"at once"),
            (2500, "a", noise(mode, 70)),
            (3000, "c", b"another channel"),
            (10, "a", "reset"),
            (300, "a", b"\x05\x01ping\x00"),
        ]
        yield (
            f"fu{mode}",
            ([("hc12", given), ("hc12", given), ("hc12", {**given, "C": 22})], exchange),
        )
    yield "replies", (
        [("hc12", {}), ("hc12", {"framing": "lines", "replies": "ping:pong,marco:polo"})],
        [(300, "a", b"ping 1\n"), (200, "a", b"marco\nnobody\n"), (200, "a", b"ping"),
         (50, "a", b" 2\n"),
         (10, "a", "host_baud", 19200), (0, "a", b"noise to it\n"), (10, "a", "switch_off"),
         (10, "a", b"ping 3\n")],
    )  # fmt: skip


# --- rylr998 --------------------------------------------------------------------------------------


def rylr998() -> Iterator[tuple[str, Variant]]:
    names = (b"ADDRESS", b"NETWORKID", b"BAND", b"PARAMETER", b"CRFOP", b"IPR", b"MODE", b"CPIN",
             b"UID", b"VER", b"NONSENSE")  # fmt: skip
    asked = [b"AT+%s?" % name for name in names]
    queries = (
        b"AT", b"AT+ADDRESS=50", b"AT+ADDRESS=65536", b"AT+NETWORKID=16", b"AT+NETWORKID=6",
        b"AT+PARAMETER=11,9,1,24", b"AT+PARAMETER=10,7,1,12", b"AT+PARAMETER=8,7,2,12",
        b"AT+BAND=868500000,M", b"AT+BAND=1", b"AT+CRFOP=14", b"AT+CRFOP=23", b"AT+CPIN=EEDCAA90",
        b"AT+CPIN=1", b"AT+MODE=2,10,3000", b"HELLO", b"", b"AT+", noise(2, 20),
        b"AT+SEND=0,5,HELL", b"AT+SEND=0,241," + b"x" * 241, b"AT+SEND=1,3,a\r\n", b"AT+SEND=x,1,y",
    )  # fmt: skip
    two: list[tuple[str, Mapping[str, Any]]] = [("rylr998", {}), ("rylr998", {"ADDRESS": 2})]
    yield "commands", (
        two,
        [(200, "a", b"AT"), *lines("a", 1200, b"\r\n", *asked, *queries, *asked),
         (600, "a", b"AT+RESET\r\n"), (600, "a", b"AT+IPR=9600\r\n"),
         (300, "a", "host_baud", 9600), (0, "a", b"AT\r\n"), (300, "a", b"AT+MODE=1\r\n"),
         (300, "a", b"AT\r\n"), (300, "a", b"AT+FACTORY\r\n")],
    )  # fmt: skip
    far = {"ADDRESS": 9, "NETWORKID": 6}
    yield "air", (
        [*two, ("rylr998", {"ADDRESS": 3, "replies": "ping:pong,marco:polo"}), ("rylr998", far)],
        [(200, "a", b"AT+SEND=2,4,\r\n\x00\xff\r\n"), (900, "b", b"AT+SEND=0,3,all\r\n"),
         (900, "a", b"AT+SEND=3,6,ping 1\r\n"), (10, "a", b"AT+SEND=3,4,soon\r\n"),
         (3000, "a", b"AT+SEND=3,5,marco\r\n"), (1500, "b", b"AT+CPIN=12345678\r\n"),
         (200, "b", b"AT+SEND=0,6,secret\r\n"), (900, "b", "reset"),
         (300, "a", b"AT+SEND=2,200," + noise(3, 200) + b"\r\n"),
         (3000, "b", b"AT+MODE=2,50,450\r\n"), (200, "a", b"AT+SEND=2,3,nap\r\n"),
         (500, "a", b"AT+SEND=2,3,nap\r\n")],
    )  # fmt: skip


# --- text_module ----------------------------------------------------------------------------------

SPEECH = {
    "banner": "READY",
    "answers": {"AT": "OK", "VER=.": "1.0"},
    "transmit": r"SEND (?P<destination>\d+) (?P<length>\d+) ",
    "accepted": "QUEUED",
    "sent": "SENT",
    "refused": "BUSY",
    "receive": "GOT {source} {length} {data} {hex} {rssi}",
}


def text_module() -> Iterator[tuple[str, Variant]]:
    requests: Script = [
        (0, "a", b"AT\r\n"),
        *lines("a", 100, b"\r\n", b"AT", b"VER=2", b"VER", b"", noise(4, 9)),
        (100, "a", b"SEND 2 4 a\r\n\xff\r\nSEND 0 1 x\r\n"),
        (100, "a", b"SEND 0 5 {hex}\r\n"),
        (100, "a", b"SEND 3 6 ping 1\r\n"),
        (300, "b", b"LISTEN\r\nSTOP\r\n"),
        (100, "a", b"SEND 2 1 x\r\n"),
        (100, "b", b"LISTEN\r\n"),
        (100, "a", b"SEND 2 1 y\r\n"),
        (100, "a", b"SEND 2 1 z\r\n"),
        (100, "a", "host_baud", 9600),
        (0, "a", b"AT\r\n"),
        (100, "a", "reset"),
    ]
    hearer = {**SPEECH, "address": 2, "listen": "LISTEN", "deaf": "STOP", "banner": ""}
    yield "lines", (
        [("text_module", {**SPEECH, "address": 1}), ("text_module", hearer),
         ("text_module", {"address": 3, "replies": "ping:pong"})],
        requests,
    )  # fmt: skip
    hexed = {
        "line_end": "\n", "boot_ms": 5, "unknown": "?", "transmit": "T(?P<hex>[0-9A-F]*)",
        "receive": "R{hex},{rssi}", "band": "x", "bits_per_s": 1200, "baudRate": 9600,
    }  # fmt: skip
    yield (
        "hex",
        (
            [
                ("text_module", hexed),
                ("text_module", hexed),
                ("text_module", {**hexed, "band": "y"}),
            ],
            lines("a", 300, b"\n", b"early", b"T48007EC0", b"T4", b"Tzz", b"T", b"\r", b"T00" * 9),
        ),
    )


# --- ir_toy ---------------------------------------------------------------------------------------


IR_CODES = (
    "nec", "nec2", "nec_ext", "onkyo", "rc5", "rc6", "rc6a", "sirc", "sirc15", "sirc20",
)  # fmt: skip


def timings(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "big") for value in (*values, 0xFFFF))


def ir_toy() -> Iterator[tuple[str, Variant]]:
    burst = timings(422, 211, 26, 26, 26, 79, 26, 79, 26, 1875)
    resets = b"\x00" * 5
    exchange: Script = [
        (10, "b", b"s"),
        (10, "a", b"v"),
        (10, "a", b"t"),
        (10, "a", b"q" + noise(5, 6)),
        (10, "a", resets),
        (10, "a", b"s"),
        (10, "a", b"\x04"),
        (10, "a", b"\x06\x4d\x00"),
        (10, "a", b"\x24\x25\x26\x03"),
        (1, "a", burst),
        (300, "a", b"\x33"),
        (10, "a", b"\x23"),
        (10, "a", b"\x03"),
        (1, "a", burst[:7]),
        (200, "a", burst[7:]),
        (300, "a", b"\x32"),
        (10, "a", b"\x05\x01"),
        (10, "a", b"\x30\x00\x01\x31\x00\x02"),
        (10, "a", b"\x7f\x10" + noise(6, 8)),
        (10, "a", resets),
        (10, "a", b"r"),
        (10, "b", b"\x26\x03"),
        (1, "b", burst),
        (300, "a", resets),
        (10, "a", b"x"),
        (10, "a", b"\x02"),
        (10, "a", resets),
        (10, "a", b"u"),
        (10, "a", b"text"),
        (10, "a", "reset"),
        (10, "a", b"$"),
        (10, "a", "switch_off"),
        (10, "a", "reset"),
        (10, "a", b"s"),
    ]
    yield "commands", ([("ir_toy", {}), ("ir_toy", {"position": "1,0,0"})], exchange)
    old = {"hardware": 1, "firmware": 19, "ahead": 2}
    yield "old", ([("ir_toy", old), ("ir_toy", {"stretch_us": 70, "jitter_us": 40})], exchange)
    keys = {
        "play": "; ".join(f"{code}:0x04:0x12" for code in IR_CODES),
        "every_ms": 250,
        "repeats": 1,
    }
    listen: Script = [(5, "a", b"s"), (3000, "a", resets)]
    yield "keys", ([("ir_toy", {}), ("ir_toy", keys)], listen)
    jam = {"jammer": "5:40", "position": "3,0,0"}
    remote = {"replies": "nec:4:8=nec:4:0x88", "delay_ms": 90, "position": "1,1,0"}
    key = {"play": "nec:4:8; raw:9000,4500,560", "every_ms": 700, "cone": 1.0, "facing": "-1,0,0"}
    yield "lamp", ([("ir_toy", {}), ("ir_toy", remote), ("ir_toy", key)], listen)
    yield "jammer", ([("ir_toy", {}), ("ir_toy", keys), ("ir_toy", jam)], listen[:1])
    yield "irman", ([("ir_toy", {}), ("ir_toy", keys)], [(5, "a", b"\x00")])


# --- irda_sir -------------------------------------------------------------------------------------

SIR_PING = bytes.fromhex("ffffffffffffffffffff c0 07 03 70 69 6e 67 20 31 12 3f c1")


def irda_sir() -> Iterator[tuple[str, Variant]]:
    for rate in (2400, 9600, 115200):
        near = {"baudRate": rate, "position": "0.5,0,0"}
        answer = {"baudRate": rate, "position": "0.3,0.3,0", "address": 3, "replies": "ping:pong"}
        other = {"baudRate": 19200, "position": "0.2,0,0"}
        exchange: Script = [
            (10, "a", SIR_PING),
            (200, "b", b"light"),
            (1, "a", b"both at once"),
            (200, "a", SIR_PING[:-3] + b"\x00" + SIR_PING[-2:]),
            (200, "a", noise(rate, 30)),
            (300, "d", b"another rate"),
            (200, "a", "host_baud", 57600),
            (0, "a", SIR_PING),
            (200, "a", "set", "position", "5,0,0"),
            (0, "b", b"too far"),
        ]
        a = {"baudRate": rate, "echo": "false" if rate == 115200 else "true"}
        yield (
            f"at_{rate}",
            ([("irda_sir", given) for given in (a, near, answer, other)], exchange),
        )


# --- uart_node ------------------------------------------------------------------------------------

UART_FRAMES = {  # of 48 00 7E C0, as docs/framing.md has them
    "cobs-crc16": "02 48 05 7E C0 9D 85 00",
    "slip-crc16": "C0 48 00 7E DB DC 9D 85 C0",
    "slip": "C0 48 00 7E DB DC C0",
    "hdlc": "7E 48 00 7D 5E C0 69 A3 7E",
    "length": "AA 55 00 04 48 00 7E C0 9E 53",
    "lines": "48 00 7E C0 0A",
    "lines-crlf": "48 00 7E C0 0D 0A",
    "gap:20ms": "48 00 7E C0",
    "raw": "48 00 7E C0",
}


def uart_node() -> Iterator[tuple[str, Variant]]:
    for at, (framing, wire) in enumerate(UART_FRAMES.items()):
        good = bytes.fromhex(wire)
        exchange: Script = [
            (100, "a", good),
            (50, "a", good + good),
            (50, "a", noise(at, 11)),
            (50, "a", good),
            (50, "a", good),
            (50, "a", good[:3]),
            (5, "a", good[3:]),
            (50, "a", "host_baud", 9600),
            (0, "a", good),
        ]
        given = {"framing": framing, "banner": "hi\\r\\n", "delay_ms": at}
        yield framing.replace(":", "_"), ([("uart_node", given)], exchange)
    texts = lines("a", 200, b"\n", b"ping 1", b"marco", b"nobody", b"flood", b"stall", b"ping 2",
                  b"ping 3", b"boot", b"ping 4", b"x" * 300, b"ping 5")  # fmt: skip
    common = {
        "framing": "lines", "replies": "ping:pong,marco:polo", "flood_on": "flood", "rate": 50,
        "count": 5, "stall_on": "stall", "stall_ms": 300, "reboot_on": "boot", "boot_ms": 40,
        "banner": "up\\n",
    }  # fmt: skip
    yield "answers", ([("uart_node", common)], texts)
    small = {**common, "buffer": 64, "rtscts": 1, "baudRate": 9600, "stall_ms": 0}
    yield "small", ([("uart_node", small)], texts)
    yield (
        "flood",
        ([("uart_node", {"mode": "flood", "size": 40, "count": 12, "baudRate": 9600})], []),
    )
    yield "noise", (
        [("uart_node", {"mode": "noise", "baudRate": 300, "seed": 5})], [(900, "a", b"x")]
    )  # fmt: skip
    reboots = {"framing": "lines", "reboot_every_ms": 333, "banner": "up\\n"}
    yield (
        "reboots",
        ([("uart_node", reboots)], lines("a", 90, b"\n", *[b"echo %d" % n for n in range(20)])),
    )


# --- webots ---------------------------------------------------------------------------------------


def webots_request(step_ms: int, *blocks: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack("<Hi", tag, len(data)) + data for tag, data in blocks)
    return struct.pack("<iI", 8 + len(body), step_ms) + body


def webots_answer(*messages: bytes, delay_ms: int = 0) -> bytes:
    data = struct.pack("<i", delay_ms) + b"".join(messages)
    return struct.pack("<HiiB", 1, len(data), len(data), 0) + data


def webots_simulator() -> Iterator[tuple[str, Variant]]:
    enable = [(tag, b"\1\x20\0") for tag in (4, 7, 9, 10, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23)]
    drive = [
        (3, b"\1\0" + struct.pack("<d", math.inf) + b"\2\0" + struct.pack("<d", 4.0)),
        (6, b"\1\0" + struct.pack("<d", math.inf) + b"\2\0" + struct.pack("<d", 2.0)),
    ]
    run: Script = [
        (10, "a", "connect"),
        (10, "a", b"CTR\nRobot-Name: robot"),
        (10, "a", webots_request(0, (0, b"\x23\0\0"))),
        (10, "a", webots_request(32, *sorted(enable + drive))),
        (50, "a", webots_request(32)[:5]),
        (50, "a", webots_request(32)[5:]),
        (50, "a", webots_request(0, (3, struct.pack("<HH", 8, 52)))),
        (50, "a", webots_request(50)),
        (50, "a", webots_request(0, (0, b"\x26"))),
        (50, "a", bytes(4)),
        (50, "a", "disconnect"),
        (50, "a", "connect"),
        (10, "a", b"CTR"),
        (10, "a", webots_request(0, (99, b"\1"))),
    ]
    for name, given in (
        ("real time", {}),
        ("fast", {"speed": "fast", "reset_ms": 64, "poses": "0.3,0.3,1"}),
        ("old", {"webots": "R2023a", "synchronization": "no", "robots": "robot, other"}),
    ):
        yield name, ([("webots_simulator", given)], run)


def webots_controller() -> Iterator[tuple[str, Variant]]:
    device = struct.pack("<H", 42) + b"ds\0\0" + struct.pack("<H", 43) + b"tx\0\0"
    robot = b"\0\0\0robot\0R2025a\0\0\1" + struct.pack("<HHd", 3, 34, 0) + device
    robot += struct.pack("<d", 32) + bytes(9) + struct.pack("<i", 1)
    devices = struct.pack("<HBi3di", 1, 0, 0, 0, 1000, 0, 0)
    devices += struct.pack("<HBii3di", 2, 0, 64, 5, 1.2, -1, -1, 0)
    step = webots_answer(b"\0\0\4" + struct.pack("<d", 0.032))
    value = webots_answer(b"\1\0\x32" + struct.pack("<d", 512.0), delay_ms=17)
    script = "enable ds 32; send tx one; send tx two; step 32 x 3; urdf a_; wait 70; step 16"
    for name, given in (("plain", {"script": script}), ("ever", {"robot": "a b"})):
        exchange: Script = [
            (10, "a", "connect"),
            (10, "a", b"CONNECTED"),
            (10, "a", webots_answer(robot, devices)),
            (10, "a", webots_answer(delay_ms=-1) + step[:9]),
            (10, "a", step[9:]),
            *((10, "a", value) for _ in range(2)),
            (10, "a", webots_answer(b"\0\0\x2e<robot/>\0")),
            *((100, "a", step) for _ in range(2)),
            (100, "a", webots_answer(b"\0\0\2")),
            (100, "a", "disconnect"),
        ]
        yield name, ([("webots_controller", given)], exchange)
    refused: Script = [(10, "a", "connect"), (10, "a", b"FORBIDDEN"), (10, "a", "disconnect")]
    yield "refused", ([("webots_controller", {})], [*refused, (10, "a", "connect")])


# --- wc2ec ----------------------------------------------------------------------------------------


def cobs_frame(message: bytes) -> bytes:
    """COBS over the message and its CRC (CCITT, false), high byte first."""
    crc = 0xFFFF
    for byte in message:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    stuffed = bytearray()
    for block in (message + crc.to_bytes(2, "big")).split(b"\0"):
        assert len(block) < 254, "short messages only"
        stuffed += bytes((len(block) + 1,)) + block
    return bytes(stuffed) + b"\0"


def wc2ec_value(command: int, kind: int, index: int, amount: float) -> bytes:
    return struct.pack("<BBBd", command, kind, index, amount)


def wc2ec_register(kind: int, index: int, name: bytes) -> bytes:
    return bytes((0, kind, index, len(name))) + name


REGISTERED = b"".join(
    wc2ec_register(38 if index < 3 else 53, index, name)
    for index, name in enumerate(
        (b"ds_left", b"ds_front", b"ds_right", b"left_wheel", b"right_wheel")
    )
)


def wc2ec_robot() -> Iterator[tuple[str, Variant]]:
    drive: list[tuple[float, bytes]] = [
        (30, wc2ec_value(130, 53, 3, 4.0) + wc2ec_value(130, 53, 4, 2.5)),
        (100, wc2ec_value(130, 53, 3, -1.5)[:6]),
        (50, wc2ec_value(130, 53, 3, -1.5)[6:]),
        (50, wc2ec_value(130, 38, 0, 1.0)),
        (50, wc2ec_value(130, 53, 9, 1.0)),
        (50, bytes((129, 38, 1))),
        (50, bytes((128, 38, 1))),
    ]
    full = [
        (50, wc2ec_value(130, 46, 5, 0.03)),
        (50, struct.pack("<BBBiI", 130, 39, 6, 7, 5) + b"hello"),
        (50, struct.pack("<BBBi", 131, 38, 2, 60)),
        (50, bytes((127, 0, 0))),
        (50, noise(7, 20)),
    ]
    for name, given, sent in (
        ("original", {}, drive),
        ("full", {"dialect": "full", "lift": "yes", "width": 0.8, "depth": 0.6}, drive + full),
        ("new", {"webots": "R2023b", "sensors": 7, "position": "0.3,0.3,1"}, drive[:2]),
    ):
        tcp: Script = [
            (10, "a", "connect"),
            *((wait, "a", data) for wait, data in sent),
            (50, "a", "disconnect"),
            (50, "a", "connect"),
            (50, "a", "reset"),
        ]
        yield name, ([("wc2ec_robot", given)], tcp)
        line: Script = [
            (10, "a", noise(8, 5)),
            *((wait, "a", cobs_frame(data)) for wait, data in sent),
        ]
        framed = {**given, "frame": "cobs-crc16", "silence_ms": 300}
        yield f"{name}_line", ([("wc2ec_robot", framed)], line)


def wc2ec_looks(at: Sequence[tuple[float, float, float]]) -> Iterator[bytes]:
    for look in at:
        yield b"".join(wc2ec_value(1, 38, index, amount) for index, amount in enumerate(look))


LOOKS = [(1000, 1000, 1000), (900, 500, 900), (200, 250, 300), (400, 400, 100), (1000, 1000, 1000)]
RADIOS = wc2ec_register(39, 5, b"tx") + wc2ec_register(52, 6, b"rx")
RECEPTION = struct.pack("<BBBidddd", 1, 52, 6, 3, 0.5, 1, 0, 0) + struct.pack("<I", 4) + b"pong"
WITH_RADIO = {
    "emitter": "tx",
    "receiver": "rx",
    "channel": 3,
    "message": "n {n}",
    "message_ms": 150,
}


# --- dynamixel ------------------------------------------------------------------------------------


def servo_packet(number: int, code: int, *parameters: int) -> bytes:
    body = bytes((code, *parameters))
    data = b"\xff\xff\xfd\0" + bytes((number,)) + struct.pack("<H", len(body) + 2) + body
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x8005 if crc & 0x8000 else crc << 1) & 0xFFFF
    return data + struct.pack("<H", crc)


def dynamixel() -> Iterator[tuple[str, Variant]]:
    wrong = servo_packet(1, 1)[:-1] + b"\0"
    script: Script = [
        *((30, "a", servo_packet(*each)) for each in (
            (1, 1), (254, 1), (1, 2, 132, 0, 4, 0), (1, 3, 64, 0, 1), (1, 3, 11, 0, 1),
            (1, 3, 116, 0, 0, 16, 0, 0), (1, 3, 116, 0, 0, 4, 0, 0), (2, 3, 11, 0, 1),
            (2, 3, 64, 0, 1), (254, 0x83, 104, 0, 4, 0, 2, 100, 0, 0, 0),
            (254, 0x82, 128, 0, 8, 0, 1, 2), (254, 0x92, 1, 132, 0, 4, 0, 2, 146, 0, 1, 0),
            (2, 3, 98, 0, 2), (9, 1), (1, 0x33), (1, 2, 1), (1, 4, 65, 0, 1), (1, 5), (1, 8),
        )),
        (100, "a", servo_packet(2, 2, 98, 0, 1, 0)),
        (30, "a", servo_packet(2, 3, 104, 0, 1, 0, 0, 0)),
        (10, "a", wrong), (30, "a", noise(7, 40)), (30, "a", servo_packet(1, 1)),
        (10, "a", "set", "hardware_error", "4"), (30, "a", servo_packet(1, 2, 70, 0, 1, 0)),
    ]  # fmt: skip
    yield "bus", ([("dynamixel", {})], script)
    echo: Script = [(10, "a", servo_packet(7, 1)), (50, "a", "reset"), (5, "a", b"\xff\xff")]
    yield "echo", ([("dynamixel", {"echo": "yes", "ids": "7", "model": 1020})], echo)


# --- create2 --------------------------------------------------------------------------------------


def create2() -> Iterator[tuple[str, Variant]]:
    drive = bytes((145, 0, 100, 0, 200))
    commands: Script = [
        (10, "a", drive),  # off: nothing
        (10, "a", bytes((128, 142, 35, 131, 149, 3, 35, 7, 100))),
        *(
            (20, "a", each)
            for each in (drive, bytes((137, 0, 100, 128, 0)), bytes((146, 0, 9, 0, 9)))
        ),
        (10, "a", bytes((139, 10, 255, 128, 140, 0, 1, 60, 8, 141, 0))),
        (100, "a", bytes((148, 4, 7, 35, 43, 44))),
        (60, "a", "set", "cliff", "left"),
        (40, "a", bytes((150, 0))),
        (40, "a", noise(5, 40)),
        (40, "a", bytes(20)),
        (40, "a", bytes((128, 132)) + drive),
        (900, "a", bytes((142, 100))),
        (10, "a", "reset"),
        (10, "a", bytes((128, 142, 6, 7))),
        (20, "a", bytes((173, 142, 6))),
    ]
    yield "commands", ([("create2", {"width": 0.6, "depth": 0.6})], commands)
    slow: Script = [(10, "a", bytes((128, 148, 1, 100))), (100, "a", bytes((150, 0)))]
    yield "slow", ([("create2", {"baud_rate": 19200, "charger": "yes"})], slow)


# --- epuck ----------------------------------------------------------------------------------------


def epuck() -> Iterator[tuple[str, Variant]]:
    asked = b"V a B,1 C D,300,-200 E F,2 H I K L,3,1 M N O P,32760,-5 Q U X D,9 L,99,2 S Q".split()
    text = lines("a", 40, b"\n", *asked)
    drive = bytes((256 - ord("D"), 0x2C, 0x01, 0x38, 0xFF))
    leds = bytes((256 - ord("L"), 8, 1, 256 - ord("L"), 2, 2))
    every = bytes(256 - ord(letter) for letter in "aMNOQugEAz") + b"\0"
    binary: Script = [
        (20, "a", every), (20, "a", drive + leds + every), (400, "a", every),
        (20, "a", drive[:3]), (20, "a", b"\0" * 5 + b"\nD,0,0\n"), (20, "a", noise(11, 60)),
        (20, "a", b"\0" * 5 + b"\nE\n"), (20, "a", bytes((256 - ord("P"), 1, 0, 2, 0)) + every),
        (40, "a", "set", "light", "90"),
        (20, "a", b"O\r\n" + every), (20, "a", b"\r"), (20, "a", b"R\r"), (40, "a", "reset"),
        (20, "a", every),
    ]  # fmt: skip
    yield "text", ([("epuck", {})], text)
    yield "binary", ([("epuck", {"ground": 700, "ground_values": 5})], binary)
    second = {"model": "e-puck2", "rotation": "1,-2,3", "echo": "yes", "delay_ms": 5}
    yield "second", ([("epuck", {**second, "acceleration": "1,2,3"})], binary[:3] + text[:4])


# --- robots with lines of text --------------------------------------------------------------------


def khepera() -> Iterator[tuple[str, Variant]]:
    drive: Script = [
        *lines("a", 20, b"\r", b"B", b"R", b"E", b"N", b"D,l20000,l-5000", b"E"),
        *lines(
            "a", 300, b"\r\n", b"R", b"N", b"K,0,1", b"K,0,2", b"I,l5,d-7", b"R", b"D,l99999,l0"
        ),
        *lines(
            "a", 20, b"\n", b"E", b"D,1", b"D,x,1", b"Z", b"", b"K,9,1", noise(11, 30), b"D,l0,l0"
        ),
        (20, "a", "set", "width", "3"),
        (20, "a", "reset"),
        *lines("a", 20, b"\r", b"R"),
    ]
    yield "drive", ([("khepera", {"version": "2.2", "answer_ms": 3})], drive)


def gcode_machine() -> Iterator[tuple[str, Variant]]:
    commands: Script = [
        *lines("a", 50, b"\n", b"$", b"$$", b"$#", b"$G", b"$I", b"$X", b"$H", b"$C", b"$foo"),
        *lines("a", 20, b"\n", b"G99", b"G1X1", b"*", b"GX", b"G21 G90 (words) ; more"),
        *lines("a", 20, b"\n", b"G0X5Y5", b"G1X10F600", b"G4P0.2", b"G91 G20 G1 Z0.1", b"M30"),
        (0, "a", b"M3 S100\n?"),
        (2500, "a", b"?"),
        (10, "a", b"G90 G21\n$J=G91X50F600\n$J=G90X1F1\n"),
        *((300, "a", each) for each in (b"?", b"G0X0\n", b"$J=X1\n", b"$J=X-5F1\n", b"\x85?")),
        *((200, "a", each) for each in (b"G1 X0 F600\n", b"!?", b"~?", b"\x18", b"G0X0\n$X\n?")),
        *((200, "a", each) for each in (b"G0 X999\n", b"$X\n", b"\x18", b"$X\n", noise(3, 60))),
        (200, "a", b"\n" + bytes(90) + b"\n"),
        (20, "a", b"\n" + b"G0X1\nG0X2\n" * 9 + b"?"),
        (900, "a", b"?\x18?"),
    ]  # fmt: skip
    yield "commands", ([("gcode_machine", {})], commands)
    homing: Script = [(50, "a", b"G0X1\n?$H\n"), (10, "a", b"?"), (600, "a", b"G0X1\n?")]
    yield "homing", ([("gcode_machine", {"homing": "yes", "soft_limits": "no"})], homing)


def wc2ec_controller() -> Iterator[tuple[str, Variant]]:
    for name, given in (("plain", {}), ("radio", WITH_RADIO), ("type", {"motor_type": 57})):
        exchange: Script = [
            (10, "a", "connect"),
            (10, "a", REGISTERED[:20]),
            (10, "a", REGISTERED[20:] + (RADIOS if given is WITH_RADIO else b"")),
            *((100, "a", look) for look in wc2ec_looks(LOOKS)),
            (50, "a", RECEPTION if given is WITH_RADIO else b""),
            (50, "a", "disconnect"),
            (50, "a", "connect"),
            (50, "a", noise(9, 30)),
        ]
        yield name, ([("wc2ec_controller", given)], exchange)


def wc2ec_node() -> Iterator[tuple[str, Variant]]:
    slow = {"watchdog_ms": 120, "repeat_ms": 40, "baudRate": 9600}
    for name, given in (("plain", {}), ("radio", WITH_RADIO), ("slow", slow)):
        exchange: Script = [
            (10, "a", cobs_frame(REGISTERED)),
            (10, "a", cobs_frame(RADIOS) if given is WITH_RADIO else noise(10, 9) + b"\0"),
            *((80, "a", cobs_frame(look)) for look in wc2ec_looks(LOOKS)),
            (50, "a", cobs_frame(RECEPTION) if given is WITH_RADIO else b"\0"),
            (500, "a", cobs_frame(next(wc2ec_looks(LOOKS)))),
            (50, "a", "reset"),
            (50, "a", cobs_frame(REGISTERED)),
        ]
        yield name, ([("wc2ec_node", given)], exchange)


# --- xbee -----------------------------------------------------------------------------------------

A, B = "0013A20040A1B2C0", "0013A20040A1B2C1"
XBEE_READ = (
    "AP", "HV", "VR", "SH", "SL", "MY", "CH", "ID", "NP", "DH", "DL", "BD", "NI", "AO",
    "CE", "SM", "PL", "CA", "RR", "MM", "DB", "EA", "EC", "EE", "KY", "NT", "NO", "TO",
    "ZS", "AI", "NC", "HP", "TR", "UA", "GD", "D6", "D7", "RO", "GT", "CC", "CT", "SC",
    "SD", "A1", "A2", "NJ", "OP", "OI", "CR", "BC", "DD", "XX", "%V", "TP", "HS",
)  # fmt: skip


def api(*data: bytes, escaped: bool = False) -> bytes:
    body = b"".join(data)
    raw = len(body).to_bytes(2, "big") + body + bytes((0xFF - (sum(body) & 0xFF),))
    if escaped:
        raw = b"".join(
            bytes((0x7D, each ^ 0x20)) if each in b"\x7e\x7d\x11\x13" else bytes((each,))
            for each in raw
        )
    return b"\x7e" + raw


def xbee_exchange(escaped: bool) -> Script:
    def frame(*data: bytes) -> bytes:
        return api(*data, escaped=escaped)

    b64, absent = bytes.fromhex(B), bytes.fromhex("0013A200DEADBEEF")
    everybody, any16 = bytes.fromhex("000000000000FFFF"), b"\xff\xfe"
    explicit = bytes((0xE8, 0xE8, 0x00, 0x11, 0xC1, 0x05))
    reads = [(20, "a", frame(b"\x08\x01", name.encode())) for name in XBEE_READ]
    return [
        (2500, "a", frame(b"\x08\x00AP")),
        *reads,
        (50, "a", frame(b"\x08\x02NI", b"golden}~")),
        (50, "a", frame(b"\x08\x03NI")),
        (50, "a", frame(b"\x08\x04CH", b"\xff")),
        (50, "a", frame(b"\x09\x05MY", b"\x12\x34")),
        (50, "a", frame(b"\x08\x06AC")),
        (50, "a", frame(b"\x08\x07ND")),
        (8000, "a", frame(b"\x08\x08DN", b"beta")),
        (2000, "a", frame(b"\x00\x10", b64, b"\x00", b"sixty-four")),
        (200, "a", frame(b"\x01\x11\x00\x02\x00", b"sixteen")),
        (200, "a", frame(b"\x01\x12\xff\xff\x00", b"sixteen, to all")),
        (200, "a", frame(b"\x10\x13", b64, any16, b"\x00\x00", b"transmit \x7e\x7d\x11\x13")),
        (300, "a", frame(b"\x10\x14", everybody, any16, b"\x00\x00", b"broadcast")),
        (900, "a", frame(b"\x10\x15", absent, any16, b"\x00\x00", b"nobody")),
        (3000, "a", frame(b"\x11\x16", b64, any16, explicit, b"\x00\x00", b"explicit")),
        (300, "a", frame(b"\x10\x17", b64, any16, b"\x00\x00", b"l" * 300)),
        (300, "a", frame(b"\x10\x18", b64, any16, b"\x00\x00", b"ping 1")),
        (300, "a", frame(b"\x17\x19", b64, any16, b"\x02NI")),
        (600, "a", frame(b"\x17\x1a", b64, any16, b"\x02AO", b"\x01")),
        (600, "a", frame(b"\x10\x1b", b64, any16, b"\x00\x00", b"with AO")),
        (300, "b", frame(b"\x10\x1c", bytes.fromhex(A), any16, b"\x00\x00", b"back")),
        (300, "a", frame(b"\x55\x01")),
        (100, "a", noise(11, 40)),
        (300, "a", frame(b"\x08\x20NP")[:-1] + b"\x00"),
        (300, "a", frame(b"\x08\x21NP")),
        (50, "a", frame(b"\x08\x22WR")),
        (50, "a", frame(b"\x08\x23RE")),
        (50, "a", frame(b"\x08\x24FR")),
        (3000, "a", frame(b"\x08\x25NI")),
        (50, "a", "host_baud", 115200),
        (0, "a", frame(b"\x08\x26NI")),
        (50, "a", "set", "XX", "1"),
        (50, "a", "set", "power", "2"),
    ]


def xbee() -> Iterator[tuple[str, Variant]]:
    for hardware in ("s1", "s1pro", "s2c", "xbee3", "xbee3pro", "digimesh", "zigbee", "900hp"):
        for mode in (1, 2) if hardware in ("xbee3", "zigbee") else (1,):
            given = {"hardware": hardware, "api_mode": mode, "ni": "alpha", "address": A}
            other = {**given, "ni": "beta", "address": B}
            answers = {"hardware": hardware, "address": "0013A20040A1B2C2", "replies": "ping:pong"}
            if hardware == "zigbee":
                given["CE"] = "1"
            elif hardware != "digimesh" and hardware != "900hp":
                other["my"] = 2
            name = hardware if mode == 1 else f"{hardware}_escaped"
            modules = [("xbee", each) for each in (given, other, answers)]
            yield name, (modules, xbee_exchange(mode == 2))
    plain: Mapping[str, Any] = {"api_mode": 0, "address": A, "ni": "alpha"}
    text: Script = [
        (2000, "a", b"to the air"),
        (1500, "a", b"+++"),
        *lines("a", 1200, b"\r", b"AT", b"ATNI", b"ATNI new name", b"ATCH", b"ATCH 0F", b"ATCH FF",
               b"ATVR,HV,SH,SL", b"ATXX", b"nonsense", b"ATDH 0013A200,DL 40A1B2C1", b"ATND"),
        (5000, "a", b"ATCN\r"),
        (1500, "a", b"other channel"),
        (1500, "a", b"+++"),
        (1100, "a", b"ATCH 0C\rATCN\r"),
        (1500, "a", b"to one alone" * 20),
        (1500, "a", b"++"),
        (1500, "b", b"back"),
        (1500, "a", b"+++"),
        (1100, "a", b"ATBD 7\rATWR\rATCN\r"),
        (100, "a", b"at another rate"),
        (100, "a", "reset"),
    ]  # fmt: skip
    beta: Mapping[str, Any] = {"api_mode": 0, "address": B, "ni": "beta"}
    yield "transparent", ([("xbee", plain), ("xbee", beta)], text)
    mesh = {"hardware": "digimesh"}
    yield "transparent_mesh", ([("xbee", {**plain, **mesh}), ("xbee", {**beta, **mesh})], text)
    duty = {"address": A, "duty_cycle": 0.000006, "hardware": "900hp"}
    to_b = [
        api(b"\x10", bytes((n,)), bytes.fromhex(B), b"\xff\xfe\x00\x00", b"d" * 200)
        for n in range(1, 6)
    ]
    yield "duty", ([("xbee", duty), ("xbee", {"address": B, "hardware": "900hp"})],
                   [(500, "a", each) for each in to_b])  # fmt: skip
    loud = {"address": A, "noise_dbm": -30}
    deaf = {"address": B, "sensitivity_dbm": -20}
    yield "noisy", ([("xbee", loud), ("xbee", deaf)],
                    [(500, who, each) for each in to_b[:2] for who in "ab"])  # fmt: skip


SCRIPTS = {
    each.__name__: each
    for each in (
        create2, dynamixel, epuck, gcode_machine, hc12, ir_toy, irda_sir, khepera, rylr998,
        text_module, uart_node,
        wc2ec_controller, wc2ec_node, wc2ec_robot, webots_controller, webots_simulator, xbee,
    )
}  # fmt: skip
