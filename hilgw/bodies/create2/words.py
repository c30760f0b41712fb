"""Bytes of the Open Interface in words, for people."""

from __future__ import annotations

import struct

from hilgw.bodies.create2 import oi

_WORDS = {128: "start", 131: "safe mode", 132: "full mode"}
_DATA = {139: 3, 145: 4}


def describe(data: bytes, *, received: bool) -> str:
    """Never raises; what is no command or frame is shown in hex."""
    return _frames(data) if received else "; ".join(_commands(data))


def _frames(data: bytes) -> str:
    frames = oi.StreamReader(oi.SIZES).feed(data)
    shown = [" ".join(f"{packet}={value}" for packet, value in each.items()) for each in frames]
    return "; ".join(shown) or data.hex(" ")


def _commands(data: bytes) -> list[str]:
    words: list[str] = []
    at = 0
    while at < len(data):
        command = data[at]
        size = 1 + _DATA.get(command, 0)
        if data.startswith(oi.STOP, at):
            words.append("stop")
            at += len(oi.STOP)
            continue
        if command == 148:
            size = 2 + (data[at + 1] if at + 1 < len(data) else 0)
        body = data[at + 1 : at + size]
        if at + size > len(data) or command not in {*_WORDS, *_DATA, 148}:
            return [*words, data[at:].hex(" ")]
        if command == 145:
            right, left = struct.unpack(">hh", body)
            text = f"drive left {left}, right {right} mm/s"
        elif command == 139:
            text = f"LEDs {body[0]:04b}, power {body[1]} {body[2]}"
        elif command == 148:
            text = f"stream {' '.join(map(str, body[1:]))}"
        else:
            text = _WORDS[command]
        if not words or words[-1] != text:
            words.append(text)
        at += size
    return words
