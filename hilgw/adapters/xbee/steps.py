"""The steps a conversation with an XBee is made of.

A conversation is a generator: it yields a step and gets the answer, or None when none came in
time. Whoever runs it knows bytes, frames and time; the conversation knows none of them.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from hilgw.adapters.base import Notice
from hilgw.adapters.xbee.frames import AtResponse

ANSWER_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Ask:
    """One AT command; the answer is an AtResponse."""

    name: str
    value: bytes = b""
    queued: bool = True
    timeout_s: float = ANSWER_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Type:
    """Text for command mode; the answer is the first line that ends in this pattern."""

    text: bytes
    answer: bytes
    timeout_s: float = ANSWER_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Silence:
    """Send nothing for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AwaitNetwork:
    """Until the module says that it has joined or formed its network, or for so long."""

    seconds: float


Step = Ask | Type | Silence | AwaitNetwork | Notice
Answer = AtResponse | bytes | None
T = TypeVar("T")
Script = Generator[Step, Answer, T]
