"""The session of a module with text commands, as its settings declare them, sans-I/O."""

import math
from collections.abc import Sequence

from hilgw.adapters._common.line_decoder import (
    CUT_SHORT,
    Item,
    LineDecoder,
    ReceivedMessage,
    message,
)
from hilgw.adapters._common.module import LineModuleSession
from hilgw.adapters._common.routes import route_for
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Ready,
    StationSettings,
    Transmission,
    Write,
    line_of,
)
from hilgw.adapters.text.settings import TextSettings, filled, placeholders_in
from hilgw.errors import PeerError
from hilgw.framing.base import FrameDropped
from hilgw.protocols.dialogue import LineScript, Pause
from hilgw.protocols.text.patterns import (
    Match,
    Step,
    compiled,
    compiled_head,
    question,
    split_at_data,
)
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.units import s_to_ns


class TextDecoder(LineDecoder):
    """Decodes the bytes of the module into lines and packets, by the pattern `receive`.

    Where the pattern has a length before the data, that length alone delimits the data.
    """

    def __init__(self, pattern: str, line_end: bytes, longest: int) -> None:
        parts = split_at_data(pattern)
        head, rest = (None, pattern) if parts is None else (compiled_head(parts[0]), parts[1])
        super().__init__(line_end, longest, head)
        self._pattern = compiled(rest, whole=head is not None)  # of a line, or after the data

    def _packet(self, held: bytes, head: Match) -> tuple[Item, int] | None:
        named = head.groupdict()
        digits = named["length"]
        size = int(digits) if digits and digits.isdigit() and len(digits) < 6 else self._longest
        if size >= self._longest:
            return CUT_SHORT, head.end()
        start, end = head.end(), head.end() + size
        if len(held) < end:
            return None
        over = held.find(self._end, end)
        if over < 0:
            return None if len(held) - end <= self._longest else (CUT_SHORT, start)
        tail = self._pattern.search(held[end:over])
        if tail is None:
            return CUT_SHORT, start
        groups = {**named, **tail.groupdict(), "data": held[start:end]}
        return _received(groups), over + len(self._end)

    def _line(self, line: bytes) -> Item:
        if self._head is not None or len(line) > self._longest:
            return line
        match = self._pattern.search(line)
        return line if match is None else _received(match.groupdict())


def _received(groups: dict[str, bytes | None]) -> Item:
    digits = groups.get("hex")
    data = digits if digits is not None else groups.get("data")
    source = (groups.get("source") or b"").decode("latin-1").strip()
    return message(data or b"", source, _number(groups.get("rssi")), is_hex=digits is not None)


def _number(value: bytes | None) -> float | None:
    try:
        number = float(value) if value else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class TextRefused(RefusedReason):
    """Reasons of the adapter `text`."""

    FAILED = "failed", "the module answered with the line that `failed` describes"


class TextSession(LineModuleSession[Ready]):
    """The AdapterSession of a text module.

    Besides the handshake and the packets, the steps of `listen` are a dialogue.
    """

    kind = "text"
    gap_ns = 500_000_000

    def __init__(self, settings: TextSettings, common: StationSettings) -> None:
        self.gap_ns = common.gap_ns(self.gap_ns)
        self._settings = settings
        self._end = settings.line_end.encode("utf-8", "surrogateescape")
        route = route_for(settings.mapping, common.channel, settings.destination, settings.to_all)
        super().__init__(line_of(common)[0], route, self._new_decoder())
        self._listen_on, self._restart_line, self._ignored = (
            compiled(text) if text else None
            for text in (settings.listen_on, settings.restarted, settings.ignore)
        )
        used = {name for step in settings.send for name in placeholders_in(step.send)}
        # Without a length a packet ends at its line end.
        self._forbidden = b"" if "data" not in used or "length" in used else self._end
        self._must_listen = False

    def _new_decoder(self) -> TextDecoder:
        return TextDecoder(self._settings.receive, self._end, self._settings.longest_line)

    # --- dialogues -------------------------------------------------------------------------------

    def _handshake(self) -> LineScript[Event, Ready]:
        name, self._must_listen = self._settings.name, False
        outcome = yield from self._script((*self._settings.setup, *self._settings.listen), {})
        if outcome is None:
            return Ready(name)
        how = "does not answer" if outcome is PacketRefused.NO_STATUS else "rejects"
        problem = f"the {name} {how} a step of setup or listen"
        raise PeerError(problem, fix="check power, wiring, baudRate and the steps")

    def _begin_packets(self, module: Ready, now: int) -> list[Event]:
        return [module]

    def _script(
        self, steps: Sequence[Step], values: dict[str, bytes], *, sent: bool = False
    ) -> LineScript[Event, RefusedReason | None]:
        """Run all steps, and return why they failed; the first command has been sent already."""
        for index, step in enumerate(steps):
            text = filled(step.send, values) + (
                b"" if step.realtime or not step.send else self._end
            )
            if sent and index == 0:
                text = b""
            if not step.expect:
                if text:
                    yield Write(text)
                continue
            asked = question(step, text)
            match = yield asked
            if match is None:
                return PacketRefused.NO_STATUS
            if match.re is asked.refusal:
                return TextRefused.FAILED
        if values and self._settings.pause_s:
            yield Pause(self._settings.pause_s)
        return None

    def _end_packet(self, lost_by: str | None, now: int) -> list[Event]:
        if lost_by is PacketRefused.NO_STATUS:
            return super()._end_packet(lost_by, now)
        if self._outstanding is not None:
            self._must_listen = True
        elif lost_by is not None:
            return self._restart("a step of listen failed", lost_by, now)
        events = super()._end_packet(lost_by, now)
        self._restarts = 0
        return events + self._listen(now)

    def _listen(self, now: int) -> list[Event]:
        steps = self._settings.listen
        if self._dialogue is not None or not self._must_listen or not self._ready:
            return []
        self._must_listen = False
        return self._begin(self._script(steps, {}), now) if steps else []

    def _too_many_restarts(self, reason: str) -> PeerError:
        return PeerError(f"{reason}, repeatedly", fix="check power, wiring and `setup`")

    # --- from the module -------------------------------------------------------------------------

    def _take_packet(self, received: ReceivedMessage, now: int) -> list[Event]:
        events = super()._take_packet(received, now)
        if not self._was_ready:
            return events
        self._must_listen = True
        return events + self._listen(now)

    def _restarted(self, line: bytes) -> bool:
        return self._restart_line is not None and self._restart_line.search(line) is not None

    def _other_line(self, line: bytes, now: int) -> list[Event]:
        if self._listen_on is not None and self._listen_on.search(line):
            self._must_listen = True
            return self._listen(now)
        if self._ignored is not None and self._ignored.search(line):
            return []
        return [Dropped(FrameDropped.GARBAGE, "bytes of an unexpected line", len(line))]

    # --- to the module ---------------------------------------------------------------------------

    def _transmit(
        self, destination: str, payload: bytes, now: int
    ) -> Transmission | CannotSend | None:
        longest = self._settings.longest_packet
        if len(payload) > longest:
            return CannotSend(
                PacketRefused.TOO_LONG, f"{len(payload)} bytes, longest_packet is {longest}"
            )
        if any(byte in payload for byte in self._forbidden):
            return CannotSend(
                PacketRefused.UNFRAMABLE, "the packet contains the line end; {data} cannot send it"
            )
        if self._is_busy(now):
            return NOT_YET
        values = {
            "data": payload,
            "hex": payload.hex().upper().encode(),
            "length": str(len(payload)).encode(),
            "destination": destination.encode("utf-8", "surrogateescape"),
        }
        steps = self._settings.send
        first = filled(steps[0].send, values) + self._end
        if len(steps) == 1 and not steps[0].expect:
            # No answer is expected: the packet is delivered when the line has sent it.
            self._quiet.time_ns = now + s_to_ns(self._settings.pause_s)
            return Transmission(first)
        return self._begin_packet(first, self._script(steps, values, sent=True), now)

    # --- as text ---------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        return self._described(self._new_decoder(), frame)
