"""A wrapper that checks all results of a session against the contract of `hilgw.adapters.base`."""

import math
import re
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from hilgw.adapters.base import (
    AdapterSession,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    Notice,
    NotReady,
    Ready,
    Received,
    Refused,
    SetLine,
    Transmission,
    Write,
)
from hilgw.errors import MismatchError, PeerError
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.testing.conformance.subject import (
    BrokenRule,
    broken,
    bytes_line,
    location_of,
    require,
    shown,
)

__tracebackhide__ = True  # a failure is shown at the rule, not in here

WORD = re.compile(r"[a-z][a-z0-9_]*")  # a reason in the ledger
EVENTS = (Write, SetLine, Ready, NotReady, Failed, Received, Dropped, Delivered, Refused, Notice)
CONTRACT, RAISES, TOKENS, DEADLINES = "contract", "raises", "tokens", "deadlines"
UNFINISHED = "filled in"
KEPT = 10_000

T = TypeVar("T")
P = ParamSpec("P")


def _recorded(
    method: "Callable[Concatenate[WatchedSession, P], T]",
) -> "Callable[Concatenate[WatchedSession, P], T]":
    def recorded(session: "WatchedSession", /, *given: P.args, **named: P.kwargs) -> T:
        try:
            return method(session, *given, **named)
        except BrokenRule as rule:
            session.verdict = session.verdict or rule
            raise

    return recorded


class WatchedSession:
    """Forwards all calls, and fails the test at the first result that breaks the contract.

    tokens: of the frames that are neither Delivered nor Refused; a station sends while there are
    fewer than `window` of them. events: the first 10,000 events. verdict: the first broken rule,
    for a caller behind code that catches it. answer: the last result of send(). inner: the wrapped
    session.
    """

    def __init__(self, session: AdapterSession, window: int) -> None:
        self.inner = session
        self.window = window
        self.ready = False
        self.verdict: BrokenRule | None = None
        self.answer: Transmission | CannotSend | None = None
        self.tokens: set[int] = set()
        self.events: list[Event] = []
        self.channels = session.channels
        require(
            self.channels is None
            or (
                isinstance(self.channels, frozenset)
                and all(type(each) is int and each >= 0 for each in self.channels)
            ),
            CONTRACT,
            f"session.channels is {self.channels!r}",
            "None (all), or a frozenset of channel numbers",
        )

    # --- the contract of each method --------------------------------------------------------------

    @_recorded
    def open(self, now: int) -> list[Event]:
        return self._checked("open", lambda: self.inner.open(now))

    @_recorded
    def receive(self, data: bytes, now: int) -> list[Event]:
        return self._checked("receive", lambda: self.inner.receive(data, now), data)

    @_recorded
    def close(self) -> list[Event]:
        events = self._checked("close", self.inner.close)
        self.ready = False
        for token in self.tokens:
            broken(TOKENS, f"close() left the frame with token {token} open", "Refused(.., 'down')")
        due = self.inner.next_deadline()
        require(due is None, DEADLINES, f"next_deadline() is {due} after close()", "None")
        return events

    @_recorded
    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        answer: Any = self._called("send", lambda: self.inner.send(packet, now), packet.data)
        more = bytes_line(packet.data)
        self.answer = answer
        if answer is None:
            return None
        if isinstance(answer, CannotSend):
            good = _is_word(answer.reason) and _is_text(answer.text)
            require(good, CONTRACT, answer, "a reason in one word and a text", more)
            return answer
        if not isinstance(answer, Transmission):
            expected = "Transmission, CannotSend, or NOT_YET (None)"
            broken(CONTRACT, f"send() returned {shown(answer)}", expected, more)
        require(self.ready, CONTRACT, "a Transmission", "NOT_YET until the session is Ready", more)
        good = isinstance(answer.data, bytes) and len(answer.data) > 0
        require(good, CONTRACT, answer, "a Transmission of at least one byte", more)
        if answer.token is not None:
            got = f"token {answer.token} again while its first frame is still open"
            is_new = answer.token not in self.tokens
            require(is_new, TOKENS, got, "a token of its own for each frame")
            self.tokens.add(answer.token)
        return answer

    @_recorded
    def next_deadline(self) -> int | None:
        due: int | None = self._called("next_deadline", self.inner.next_deadline)
        require(
            due is None or type(due) is int,
            DEADLINES,
            f"next_deadline() is {due!r}",
            "integer nanoseconds, or None",
        )
        return due

    @_recorded
    def expire(self, now: int) -> list[Event]:
        events = self._checked("expire", lambda: self.inner.expire(now))
        due = self.next_deadline()
        require(
            due is None or due > now,
            DEADLINES,
            f"next_deadline() is {due} after expire({now})",
            "None, or a time in the future: a past deadline keeps the gateway busy for ever",
        )
        return events

    @_recorded
    def describe(self, frame: bytes) -> str:
        words: str = self._called("describe", lambda: self.inner.describe(frame), frame)
        require(
            isinstance(words, str) and words.strip() and words.isprintable(),
            "describe",
            f"{words!r:.200}",
            "a line of printable text",
            bytes_line(frame),
        )
        return words

    def _called(self, name: str, call: Callable[[], Any], data: bytes | None = None) -> Any:
        more = [] if data is None else [bytes_line(data)]
        try:
            return call()
        except NotImplementedError as error:
            missing = str(error)
        except Exception as error:  # noqa: BLE001 - any exception is a fault of the adapter
            broken(
                "describe" if name == "describe" else RAISES,
                f"{name}() raised {type(error).__name__}: {error}",
                "no exception: Dropped(reason, text) for invalid input, Failed(error) for the end "
                "of the session",
                *more,
                location_of(error),
            )
        raise BrokenRule(UNFINISHED, f"{name}() is not implemented yet", missing)

    # --- the contract of events -------------------------------------------------------------------

    def _checked(
        self, name: str, call: Callable[[], list[Event]], data: bytes | None = None
    ) -> list[Event]:
        events: list[Event] = self._called(name, call, data)
        more = [] if data is None else [bytes_line(data)]
        require(
            isinstance(events, list),
            CONTRACT,
            f"{name}() returned {shown(events)}",
            "a list of events",
            *more,
        )
        for event in events:
            self._check_event(event, name, more)
        if len(self.events) < KEPT:
            self.events += events
        return events

    def _check_event(self, event: Event, name: str, more: list[str]) -> None:
        def need(holds: object, expected: str) -> None:
            require(holds, CONTRACT, f"{name}() returned {shown(event)}", expected, *more)

        match event:
            case Received(data, channel, rssi_dbm, address):
                need(isinstance(data, bytes) and data, "a packet with at least one byte")
                need(self._is_channel(channel), f"a channel among {_in_words(self.channels)}")
                need(
                    rssi_dbm is None
                    or (isinstance(rssi_dbm, int | float) and math.isfinite(rssi_dbm)),
                    "rssi_dbm: a number, or None",
                )
                need(address is None or _is_text(address), "address: text, or None")
            case Dropped(reason, text, count):
                good = _is_word(reason) and _is_text(text) and type(count) is int and count > 0
                need(good, "a reason in one word, a text, a count of at least 1")
            case Write(data):
                need(isinstance(data, bytes) and data, "a Write of at least one byte")
            case SetLine(line, on):
                need(line in ("dtr", "rts") and type(on) is bool, "dtr or rts, on or off")
            case Delivered(token):
                self._settle(event, token, name, more)
            case Refused(token, reason):
                need(_is_word(reason), "a reason in one word")
                self._settle(event, token, name, more)
            case Ready(identity, addresses):
                need(
                    _is_text(identity) and isinstance(addresses, tuple),
                    "an identity as text, and a tuple of addresses",
                )
                self.ready = True
            case NotReady(reason):
                need(_is_text(reason), "a reason as text")
                self.ready = False
                got = f"NotReady with the tokens {sorted(self.tokens)} open"
                require(not self.tokens, TOKENS, got, "each of them Refused before it")
            case Failed(error):
                need(isinstance(error, MismatchError | PeerError), "MismatchError or PeerError")
                self.ready = False
            case Notice(text):
                need(_is_text(text), "a text")
            case _:
                need(False, f"one of {', '.join(kind.__name__ for kind in EVENTS)}")

    def _settle(self, event: Event, token: int, name: str, more: list[str]) -> None:
        require(
            token in self.tokens,
            TOKENS,
            f"{name}() returned {shown(event)}",
            f"each token once; open tokens: {sorted(self.tokens) or 'none'}",
            *more,
        )
        self.tokens.discard(token)

    def _is_channel(self, channel: Any) -> bool:
        if type(channel) is not int:
            return False
        return channel == BROADCAST or channel in (
            range(2**31) if self.channels is None else self.channels
        )


def _is_word(text: Any) -> bool:
    return isinstance(text, str) and WORD.fullmatch(text) is not None


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _in_words(channels: frozenset[int] | None) -> str:
    return "0 and up, or -1" if channels is None else f"{sorted(channels)}, or -1"
