"""Bytes to or from an IR Toy, in words."""

from __future__ import annotations

import re

from hilgw.adapters.ir_toy.samples import END, END_BYTES, SLIP, Samples, to_us
from hilgw.protocols.ir import Code, Codec, Repeat
from hilgw.protocols.ir.receiver import ReceivedFrame, Splitter

MOST = 8  # durations shown

_WORDS = {
    b"\x00": "leave sample mode",
    b"\xff\xff\xff\x00\x00\x00\x00\x00": "reset",
    b"v": "version?",
    b"s": "enter sample mode",
    b"S01": "sample mode, protocol 01",
    b"\x24\x25\x26\x03": "transmit, with count, completion and handshake",
}


def describe(data: bytes, codec: Codec | None) -> str:
    """A command, an answer, or samples. Never raises."""
    if data in _WORDS:
        return f"IR Toy: {_WORDS[data]}"
    if match := re.fullmatch(rb"V(\d)(\d\d)", data):
        return f"IR Toy: hardware {int(match[1])}, firmware {int(match[2])}"
    if match := re.fullmatch(rb"\x06(.).\x24\x25\x26\x03", data, re.DOTALL):
        return f"IR Toy: transmit at {3000 / (match[1][0] + 1):.3g} kHz"
    if match := re.fullmatch(rb"t(..)([CF])", data, re.DOTALL):
        verdict = "complete" if match[2] == b"C" else "underrun"
        return f"IR Toy: transmitted {int.from_bytes(match[1], 'big')} B, {verdict}"
    if len(data) == 1 and 2 <= data[0] <= 64:
        return f"IR Toy: room for {data[0]} B"
    return _describe_samples(data, codec)


def _describe_samples(data: bytes, codec: Codec | None) -> str:
    if len(data) < 2:
        return f"IR Toy: {len(data)} B"
    counts = [count for count in Samples().feed(data) if count != SLIP]
    splitter = Splitter(codec.traits.gap_us if codec else END, limit=len(counts))
    found = [splitter.end(0) if count == END else splitter.feed(to_us(count)) for count in counts]
    frames = [heard for heard in (*found, splitter.end(0)) if heard is not None]
    text = "; ".join(_describe_frame(heard, codec) for heard in frames)
    if data.endswith(END_BYTES):
        text = f"{text}, end" if text else "end"
    return f"IR Toy: {text or f'{len(data)} B, no light'}"


def _describe_frame(heard: ReceivedFrame, codec: Codec | None) -> str:
    said = codec.decode(heard.durations) if codec else None
    if isinstance(said, Code) and codec is not None:
        text = f"{codec.traits.title} address {said.address:X} command {said.command:X}"
        return f"{text} toggle {said.toggle}" if codec.traits.held == "toggle" else text
    if isinstance(said, Repeat):
        return "the same again"
    shown = " ".join(map(str, heard.durations[:MOST]))
    return f"{shown}{' ...' if len(heard.durations) > MOST else ''} us"
