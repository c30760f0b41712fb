"""The bytes of docs/wc2ec.md are those of the codec and the framing."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
import yaml

from firmware_mocks.wc2ec.cobs import FrameReader, crc16
from hilgw.bodies.wc2ec import BODY
from hilgw.controllers.wc2ec import CONTROLLER
from hilgw.devices.kinds import MotorLimits
from hilgw.framing import create
from hilgw.protocols.wc2ec import Layouts, Numbers, Side, describe
from tests.docs.reading import pages

PAGE = pages("wc2ec", "wc2ec-wire", "wc2ec-robots", "stops")
LAYOUTS = Layouts("R2020a", extensions=True)
SIDES = {"W": Side.WEBOTS, "E": Side.EXTERNAL}
HEX = r"((?:[0-9a-f]{2} ?)+)"


def blocks(kind: str) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page has no block of {kind}"
    return found


def lines_of_messages() -> list[tuple[str, str, str]]:
    lines = [line for block in blocks("wc2ec") for line in block.splitlines()]
    matches = [re.fullmatch(rf"([WE]) {HEX} +(\S.*)", line) for line in lines]
    assert all(matches), "a line without an example"
    return [(match[1], match[2], match[3]) for match in matches if match]


@pytest.mark.parametrize(("side", "data", "words"), lines_of_messages())
def test_each_message_has_its_description(side: str, data: str, words: str) -> None:
    assert describe(bytes.fromhex(data), SIDES[side], LAYOUTS) == words


@pytest.mark.parametrize("block", blocks("frame"))
def test_each_frame_has_its_bytes(block: str) -> None:
    first, second, third = block.splitlines()
    match = re.fullmatch(rf"message  {HEX} +([WE]) (\S.*)", first)
    assert match
    message = bytes.fromhex(match[1])
    crc = bytes.fromhex(second.removeprefix("crc"))
    line = bytes.fromhex(third.removeprefix("line"))
    assert describe(message, SIDES[match[2]], LAYOUTS) == match[3]
    assert crc16(message).to_bytes(2, "big") == crc
    assert create("cobs-crc16").encode(message) == line
    assert create("cobs-crc16").feed(line) == FrameReader().feed(line) == [message]


def test_the_numbers_are_those_of_the_versions() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for kind, old, new in rows:
        assert Numbers("R2020a").number(kind) == int(old)
        assert Numbers("R2025a").number(kind) == int(new)
    assert "39 and 52 under R2020a, 43 and 56 under R2025a" in PAGE
    for version, pair in (("R2020a", (39, 52)), ("R2025a", (43, 56))):
        numbers = Numbers(version)
        assert (numbers.number("Emitter"), numbers.number("Receiver")) == pair
    assert "29 B1" in PAGE and crc16(b"123456789") == 0x29B1


def test_the_settings_shown_exist_and_are_accepted() -> None:
    for block in blocks("yaml"):
        robot = yaml.safe_load(block)["robots"]["cab"]
        for part, kind in (("body", BODY), ("controller", CONTROLLER)):
            if part in robot:
                given = dict(robot[part])
                assert given.pop("kind") == kind.kind
                assert kind.check(kind.Settings(**given)) == []
    for name in (
        "step_ms",
        "extensions",
        "original_peer",
        "silence_s",
        "default_position",
        "limits",
    ):
        assert f"`{name}" in PAGE
        assert name in BODY.Settings.__dataclass_fields__
    for name in MotorLimits.__dataclass_fields__:
        assert f"`{name}`" in PAGE


MAIN = """
#include <string.h>
int main(void) {
  uint8_t message[300], out[300];
  int byte;
  size_t n = 0;
  while ((byte = getchar()) != EOF) message[n++] = (uint8_t)byte;
  size_t length = frame(message, n, out);
  fwrite(out, 1, length, stdout);
  size_t opened = open_frame(out, length - 1);
  if (opened != n || memcmp(out, message, n)) return 2;
  out[0] ^= 1;
  return open_frame(out, length - 1) ? 3 : 0;
}
"""
LISTING = blocks("c")[0]


def compiled(source: str, tmp_path: Path) -> Path:
    file, program = tmp_path / "listing.c", tmp_path / "listing"
    file.write_text(source)
    strict = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*strict, "-o", str(program), str(file)], check=True)
    return program


@pytest.mark.process
@pytest.mark.judge("gcc")
def test_the_c_code_makes_the_same_frames(tmp_path: Path) -> None:
    functions = LISTING[: LISTING.index("/* A controller on")]
    program = compiled(functions + MAIN, tmp_path)
    messages = [bytes.fromhex(data) for _, data, _ in lines_of_messages()]
    for message in (*messages, bytes(11), bytes(range(250)), b"\0", b"\0\0x\0"):
        made = subprocess.run([program], input=message, capture_output=True, check=False)
        assert made.returncode == 0, message
        assert made.stdout == create("cobs-crc16").encode(message)


@pytest.mark.process
@pytest.mark.judge("gcc")
def test_the_listing_is_a_program_that_controls(tmp_path: Path) -> None:
    """As on the page: garbage and other messages are ignored; far: 5 rad/s, near: the stop."""
    program = compiled(LISTING, tmp_path)
    framing = create("cobs-crc16")
    values = (250.0, 100.0, 99.9, 1.5, -3.0)
    data = [b"\x01\x26\x01" + struct.pack("<d", value) for value in values]
    other = [bytes.fromhex("00 26 01 08 64 73 5f 66 72 6f 6e 74"), b"\x01\x26\x02" + bytes(8)]
    sent = b"\xffnoise\0" + b"".join(map(framing.encode, [*other, *data])) + bytes([9] * 400 + [0])
    done = subprocess.run([program], input=sent, capture_output=True, check=True)
    commands = [describe(each, Side.EXTERNAL, LAYOUTS) for each in FrameReader().feed(done.stdout)]
    turn = "setValue RotationalMotor 3 = "
    assert commands == [f"{turn}{number}" for number in (5, 5, 0, 0, 0)]
