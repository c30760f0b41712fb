"""The mock of the e-puck, by the bytes that Webots' own remote control exchanges with a robot."""

import struct
from typing import Any

import pytest

from firmware_mocks.epuck import create
from tests.firmware_mocks.bench import AirBench

BANNER = b"\f\aWELCOME to the SerCom protocol on e-Puck\r\nthe EPFL education robot"


class Line(AirBench):
    """A robot, whose answers come within 20 ms."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(create, parameters, answer_ms=20)
        self.robot = self.modules[0]
        self.run(50)
        self.taken()

    def answer(self, data: bytes) -> bytes:
        answer: bytes = self.ask(0, data)
        return answer


def letters(text: str) -> bytes:
    return bytes(256 - ord(letter) for letter in text)


def test_the_session_of_webots_remote_control() -> None:
    line = Line(selector=5)
    version = b"v,Version 1.5.3 November 2016 (Webots)\r\nHW version: FFFF\r\n"
    assert line.answer(b"V\n") == version
    assert line.answer(b"V\n\0") == version
    assert line.answer(b"S\n\0") == b"s\r\n"
    speeds = letters("D") + bytes.fromhex("f401 0cfe")
    answer = line.answer(speeds + letters("L") + b"\x08\x01" + letters("aMNOQ") + b"\0")
    near, light = 8 * [67], 8 * [3500]
    assert struct.unpack("<24H", answer) == (2000, 2000, 2800, 0, 0, 0, *near, *light, 0, 0)
    assert line.robot.speeds == (500, -500) and line.robot.leds[8] == 1
    line.run(980)
    left, right = struct.unpack("<2h", line.answer(letters("Q") + b"\0"))
    assert (left, right) == (pytest.approx(500, abs=11), pytest.approx(-500, abs=11))
    assert line.answer(b"C\n") == b"c,5\r\n" and line.answer(b"X\n") == b"z,Command not found\r\n"


def test_binary_answers_and_their_sizes() -> None:
    line = Line(model="e-puck2", rotation=(1, -2, 3), sound=7, acceleration=(9.81, 0, 9.81))
    sizes = {"a": 6, "A": 12, "E": 4, "M": 6, "N": 16, "O": 16, "Q": 4, "u": 6, "g": 6, "D": 0}
    for letter, size in sizes.items():
        data = b"\x01\x00\x02\x00" if letter == "D" else b""
        assert len(line.answer(letters(letter) + data + b"\0")) == size, letter
    assert line.answer(letters("E") + b"\0") == bytes.fromhex("0100 0200")
    assert struct.unpack("<3H3H3h", line.answer(letters("aug") + b"\0")) == (
        *(1280, 2048, 2816),  # the x axis of the chip points the other way
        *(7, 7, 7, 1, -2, 3),
    )
    assert len(line.answer(letters("I") + b"\0")) > 3
    assert line.answer(letters("zyx") + b"\0") == b""  # unknown ones are ignored
    assert Line().answer(letters("g") + b"\0") == b""


def test_the_robot_has_no_watchdog_and_a_reset_stops_it() -> None:
    line = Line()
    line.answer(b"D,300,300\n")
    line.run(60_000)
    assert line.robot.speeds == (300, 300)
    assert line.answer(b"R\n").startswith(b"r\r\n" + BANNER)
    assert line.robot.speeds == (0, 0) and line.answer(b"Q\n") == b"q,0,0\r\n"


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"H", b"\nA B C D E F H I J K L M N O P Q R S U V\r\n"),
        (b"K", b"k, Calibration finished\r\n"),
        (b"M", b"m,700,700,700\r\n"),
        (b"P,320,-5", b"p\r\n"),
    ],
)
def test_commands_in_text(command: bytes, answer: bytes) -> None:
    assert Line(ground=700).answer(command + b"\n") == answer


def test_encoders_and_the_lights_of_the_body_are_set() -> None:
    line = Line()
    line.answer(b"P,320,-5\n")
    assert line.answer(b"Q\n") == b"q,320,-5\r\n"
    line.answer(letters("P") + b"\x01\x00\x02\x00\0")
    assert line.answer(b"Q\n") == b"q,1,2\r\n"
    line.answer(b"B,1\n")
    line.answer(b"F,1\n")
    assert (line.robot.leds[8], line.robot.leds[9]) == (1, 1)
