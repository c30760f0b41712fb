"""Feeds the decoders of the C library for microcontrollers with damaged streams, under
AddressSanitizer and UBSan, and compares each with hilgw's framing.

    tools/soak node [--inputs 1000000] [--decoder cobs-crc16 ...]

Hypothesis draws frames, noise and a seed; each example feeds 500 streams made of these.
"""

from __future__ import annotations

import argparse
import os
import random
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
    FRAMINGS,
    LIBRARY,
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
    for name in args.decoder or [*FRAMINGS, *ROBOTS]:
        begun = time.monotonic()
        count = soak(library, name, args.inputs)
        print(f"{name:<12} {count} streams in {time.monotonic() - begun:.0f} s", flush=True)
    return 0


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


def soak(library: object, name: str, inputs: int) -> int:
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
            else:
                one_of_framing(sender, name, payloads, chance)

    feed()
    while done < inputs:  # Hypothesis may end earlier, where it has drawn all that is short
        feed()
    return done


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
    link = Link(sender.library, name, size=chance.choice((SIZE, SIZE, chance.randint(0, 12))))
    frames = [sender.encode(each) or each for each in chance.choices(payloads, k=2)]
    stream = b"".join(damaged(each, chance) for each in frames)
    packets = link.feed(stream) + link.read(1000)
    if name == "wc2ec" or link.limit < 1:
        return
    framing = create(replace(parse(name), max_payload=link.limit))
    expected = framing.feed(stream)
    while (due := framing.next_deadline()) is not None:
        expected += framing.expire(due)
    assert packets == expected, (name, stream.hex())
    assert link.dropped == {key: count for key, count in framing.dropped.items() if count}


def one_of_robot(sender: Link, name: str, payloads: list[bytes], chance: random.Random) -> None:
    """Whole frames with any messages: those that the CRC cannot keep out."""
    link = Link(sender.library, "cobs-crc16", size=37)
    step_ms = None if name == "controller" else 20
    robot = Robot(link, {"a": SENSOR, "b": ROTATIONAL}, step_ms=step_ms)
    commands = (0, 1, 127) if name == "controller" else (128, 129, 130, 131)
    for now, payload in enumerate(chance.choices(payloads, k=4)):
        head = bytes((chance.choice(commands), 53, chance.randint(0, 2)))
        message = head + payload + chance.randbytes(chance.choice((0, 8, 32)))
        robot.poll(now * chance.choice((1, 90, 600)), sender.encode(message[:60]) or b"")
        robot.command("b", 1.0)
        robot.motor("b", now)


if __name__ == "__main__":
    sys.exit(main())
