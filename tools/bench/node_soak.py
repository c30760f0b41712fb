"""Feeds the decoders of the C library for microcontrollers with damaged streams.

They run under AddressSanitizer and UBSan, and each is compared with hilgw's framing.

    tools/soak node [--inputs 1000000] [--decoder cobs-crc16 ...]

Hypothesis draws frames, noise and a seed; each example feeds 500 streams made of these. Each
decoder has a process of its own: one that a sanitizer ends leaves the others running.
"""

import argparse
import ctypes
import math
import multiprocessing
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from hypothesis import HealthCheck, given, settings, strategies as st

from hilgw.framing import create, parse
from tests.firmware.node import (
    EMITTER,
    FRAMINGS,
    LIBRARY,
    LINEAR,
    RECEIVER,
    ROTATIONAL,
    SENSOR,
    Link,
    Robot,
    compiled,
    loaded,
)

STREAMS = 500  # of one example
SIZE = 40  # of the packet buffer
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
ROBOTS = ("controller", "body")
DEVICES = {"front": SENSOR, "lift": LINEAR, "wheel": ROTATIONAL, "tx": EMITTER, "rx": RECEIVER}
SPICE = b"\x00\x01\x7d\x7e\x5d\x5e\xc0\xdb\xdc\xdd\x0d\x0a\xaa\x55\xff\x26\x35\x80\x82\x83"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="streams for each decoder")
    parser.add_argument("--decoder", action="append", choices=[*FRAMINGS, *ROBOTS])
    parser.add_argument("--source", type=Path, default=LIBRARY, help="a changed copy of it")
    args = parser.parse_args()
    if "HILGW_NODE" not in os.environ:
        return again_with_sanitizers(args.source)
    library = loaded(Path(os.environ["HILGW_NODE"]))
    failed = 0
    for name in args.decoder or [*FRAMINGS, *ROBOTS]:
        begun = time.monotonic()
        worker = multiprocessing.get_context("fork").Process(
            target=soak, args=(library, name, args.inputs)
        )
        worker.start()
        worker.join()
        text = f"{args.inputs} streams in {time.monotonic() - begun:.0f} s"
        if worker.exitcode != 0:
            failed, text = 1, f"failed with {worker.exitcode}"
        print(f"{name:<12} {text}", flush=True)
    return failed


def again_with_sanitizers(source: Path) -> int:
    """Run this program again, with the sanitizer's library before all others."""
    asan = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="hilgw-node-") as folder:
        more = {
            "HILGW_NODE": str(compiled(Path(folder) / "node.so", *SANITIZE, source=source)),
            "LD_PRELOAD": asan,
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python's own
            "PYTHONMALLOC": "malloc",  # so that each buffer has its bounds
        }
        return subprocess.run([sys.executable, *sys.argv], env=os.environ | more).returncode


def soak(library: ctypes.CDLL, name: str, inputs: int) -> None:
    done = 0
    sender = Link(library, "cobs-crc16" if name in ROBOTS else name, size=100)

    @settings(
        max_examples=-(-inputs // STREAMS), deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        payloads=st.lists(st.binary(max_size=60), min_size=1, max_size=8),
        seed=st.integers(0, 2**32),
    )
    def feed(payloads: list[bytes], seed: int) -> None:
        nonlocal done
        chance = random.Random(seed)
        for _ in range(STREAMS):
            if done >= inputs:
                return
            done += 1
            if name in ROBOTS:
                one_of_robot(sender, name, payloads, chance)
            elif name == "wc2ec":
                one_of_stream(library, payloads, chance)
            else:
                one_of_framing(sender, name, payloads, chance)

    feed()
    while done < inputs:  # Hypothesis may end earlier, where it has drawn all that is short
        feed()


def damaged(frame: bytes, chance: random.Random) -> bytes:
    stream = bytearray(frame)
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        place = chance.randint(0, len(stream))
        match chance.randint(0, 3):
            case 0 if place < len(stream):
                stream[place] ^= 1 << chance.randint(0, 7)
            case 1:
                del stream[place : place + chance.randint(1, 4)]
            case 2:
                stream[place:place] = bytes(chance.choices(SPICE, k=chance.randint(1, 8)))
            case _:
                stream[place:place] = chance.randbytes(chance.randint(1, 50))
    return bytes(stream)


def one_of_framing(sender: Link, name: str, payloads: list[bytes], chance: random.Random) -> None:
    size = chance.choice((SIZE, SIZE, chance.randint(0, 12)))
    link = Link(sender.library, name, size=size, queue=chance.randint(2, 60))
    frames = [sender.encode(each) or each for each in chance.choices(payloads, k=2)]
    stream = b"".join(damaged(each, chance) for each in frames)
    packets = link.feed(stream) + link.read(1000)
    dropped = link.dropped
    for payload in payloads[:2]:  # the queue to the UART turns over, or is full
        link.send(payload)
        link.sent()
    if link.limit < 1:
        return
    framing = create(replace(parse(name), max_payload=link.limit))
    expected = framing.feed(stream)
    while (due := framing.next_deadline()) is not None:
        expected += framing.expire(due)
    assert packets == expected, (name, stream.hex())
    assert dropped == {key: count for key, count in framing.dropped.items() if count}


def message(name: str, payload: bytes, chance: random.Random) -> bytes:
    """Return a message to a controller or a body, right or nearly so."""
    device = chance.randint(0, len(DEVICES))
    channel, double = struct.pack("<i", chance.choice((-2, -1, 7))), chance.randbytes(8)
    if chance.random() < 0.8:
        double = struct.pack("<d", chance.choice((0.0, -1.0, 250.0, 1e300)))
    counted = struct.pack("<I", len(payload)) + payload
    if name == "body":
        command = chance.choice((128, 129, 130, 130, 131, 131))
        bodies = (double, double * 4, channel + double, channel * 2, channel + counted)
    else:
        command = chance.choice((0, 1, 1, 1, 127))
        bodies = (double, double, channel + double * 4 + counted)
    body = bytes((len(payload),)) + payload if command == 0 else chance.choice(bodies)
    if command in (127, 128, 129) and chance.random() < 0.8:
        body = b""
    return bytes((command, chance.choice((38, 39, 46, 52, 53)), device)) + body


def registrations() -> list[bytes]:
    return [
        bytes((0, (38, 46, 53, 39, 52)[kind], index, len(word))) + word.encode()
        for index, (word, kind) in enumerate(DEVICES.items())
    ]


def one_of_stream(library: ctypes.CDLL, payloads: list[bytes], chance: random.Random) -> None:
    """Send messages without frames, of a robot that may have a Receiver."""
    size = chance.choice((110, 110, chance.randint(30, 50), chance.randint(0, 12)))
    robot = Robot(Link(library, "wc2ec", size=size, queue=chance.choice((70, 1024))), DEVICES)
    messages = registrations() if chance.random() < 0.8 else []
    messages += [message("controller", each, chance) for each in chance.choices(payloads, k=3)]
    stream = b"".join(messages[:-3] + [damaged(each, chance) for each in messages[-3:]])
    for now in range(0, len(stream), 60):
        used(robot, stream[now : now + 60], now, chance)


def one_of_robot(sender: Link, name: str, payloads: list[bytes], chance: random.Random) -> None:
    """Whole frames with any messages: those that the CRC cannot keep out."""
    size = chance.choice((110, 110, 37, chance.randint(5, 50)))
    link = Link(sender.library, "cobs-crc16", size=size, queue=chance.choice((60, 160, 1024)))
    robot = Robot(link, DEVICES, step_ms=None if name == "controller" else 20)
    messages = [message(name, each, chance) for each in chance.choices(payloads, k=4)]
    if name == "controller" and chance.random() < 0.8:
        messages[:0] = registrations()
    pace = chance.choice((1, 90, 600))
    while messages:
        one, *messages = messages
        if name == "body" and messages and chance.random() < 0.3:
            one += messages.pop(0)
        if chance.random() < 0.2:
            one = damaged(one, chance)
        used(robot, sender.encode(one[:96]) or b"", len(messages) * pace, chance)


def used(robot: Robot, data: bytes, now_ms: int, chance: random.Random) -> None:
    """Poll a robot with this data, and do what a program does with it."""
    robot.poll(now_ms, data)
    while (packet := robot.packet) is not None:
        name, channel, content, signal = packet
        assert DEVICES[name] == (EMITTER if robot.is_body else RECEIVER)
        assert channel >= -1 and content and all(map(math.isfinite, signal))
        robot.poll(now_ms)
    if robot.is_body:
        assert math.isfinite(robot.motor("wheel", now_ms))
        robot.report("front", 1.0)
        robot.receive("rx", 7, data[: chance.randint(0, 70)], 1.0, 0.0, 0.0, 0.0)
    else:
        robot.command("wheel", 1.0)
        robot.send("tx", 7, data[: chance.randint(0, 70)])
        robot.set_emitter("tx", 7, -1.0)
    robot.link.sent()


if __name__ == "__main__":
    sys.exit(main())
