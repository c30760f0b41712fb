"""The session of a RYLR998: packets to AT+SEND, +RCV to packets, sans-I/O."""

from __future__ import annotations

import re

from hilgw.adapters._common.line_decoder import (
    CUT_SHORT,
    Item,
    LineDecoder,
    ReceivedMessage,
    garbage,
    message,
)
from hilgw.adapters._common.line_module import LineModuleSession
from hilgw.adapters._common.routes import route_for
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Notice,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.rylr998.handshake import (
    ERROR,
    OK,
    RylrModule,
    error_reason,
    error_text,
    handshake,
)
from hilgw.adapters.rylr998.settings import (
    LAST_ADDRESS,
    LONGEST,
    TO_ALL,
    RylrSettings,
    normal_address,
)
from hilgw.protocols.dialogue import AskLine, LineScript
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_S, ns_to_s

RESTARTS = (b"+RESET", b"+READY", b"+FACTORY")

_ANSWER = re.compile(rb"\+(?:OK|ERR=[0-9]{1,3}|[A-Z]{3,9}=[ -~]{0,64})")


LONGEST_LINE = 128  # no answer is longer
_START = re.compile(rb"\+RCV=")
_HEAD = re.compile(rb"\+RCV=([0-9]{1,5}),([0-9]{1,3}),")
_HALF_HEAD = re.compile(rb"\+RCV=[0-9]{0,5}(,[0-9]{0,3})?")
_TAIL = re.compile(rb",(-?[0-9]{1,3}),(-?[0-9]{1,3})\r\n")
_HALF_TAIL = re.compile(rb"(,(-?[0-9]{0,3}(,(-?[0-9]{0,3}\r?)?)?)?)?")


class RylrDecoder(LineDecoder):
    """Decodes the bytes of the module into lines and packets.

    A packet is `+RCV=address,length,data,rssi,snr` CR LF.

    is_hex: the data of a packet are hex digits.
    """

    def __init__(self, *, is_hex: bool = False) -> None:
        super().__init__(b"\r\n", LONGEST_LINE, _START)
        self._is_hex = is_hex

    def _packet(self, held: bytes, start: re.Match[bytes]) -> tuple[Item, int] | None:
        cut = CUT_SHORT, start.end()
        head = _HEAD.match(held, start.start())
        if head is None:
            return None if _HALF_HEAD.fullmatch(held, start.start()) else cut
        address, size = int(head[1]), int(head[2])
        if address > LAST_ADDRESS or size > LONGEST:
            return cut
        end = head.end() + size
        if len(held) < end:
            return None
        tail = _TAIL.match(held, end)
        if tail is None:
            return None if _HALF_TAIL.fullmatch(held, end) else cut
        data, rssi, snr = held[head.end() : end], float(tail[1]), int(tail[2])
        return message(data, str(address), rssi, snr, is_hex=self._is_hex), tail.end()


class RylrSession(LineModuleSession[RylrModule]):
    """The AdapterSession of a RYLR998.

    One command at a time: the module answers +OK when it has transmitted the packet. The next
    packet waits until the calculated time on air is over, too.
    """

    kind = "rylr998"
    gap_ns = 300_000_000  # even at 300 baud
    no_answer = "the module did not answer AT+SEND"
    no_address = TO_ALL

    def __init__(self, settings: RylrSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        self._is_hex = settings.encoding == "hex"
        destination = normal_address(settings.destination)
        route = route_for(settings.mapping, common.channel, destination, TO_ALL, normal_address)
        super().__init__(common.baudRate, route, RylrDecoder(is_hex=self._is_hex))
        self._byte_ns = line_of(common)[0].byteSize * NS_PER_S // common.baudRate
        self._module: RylrModule | None = None  # of the last handshake

    def _handshake(self) -> LineScript[Event, RylrModule]:
        return handshake(self._settings, self._common)

    def _begin_packets(self, module: RylrModule, now: int) -> list[Event]:
        self._module = module
        self._restarts = 0
        address = str(module.address)
        return [Ready(module.identity, () if address == TO_ALL else (address,))]

    # --- from the module -------------------------------------------------------------------------

    def _has_sense(self, items: list[Item], events: list[Event]) -> bool:
        is_packet = any(isinstance(item, ReceivedMessage) for item in items)
        return is_packet or super()._has_sense(items, events)

    def _restarted(self, line: bytes) -> bool:
        return line.endswith(RESTARTS)

    def _other_line(self, line: bytes, now: int) -> list[Event]:
        error = ERROR.search(line)
        if error is not None and self._dialogue is None:
            return [_error_notice(int(error[1]))]
        if self._dialogue is None and OK.search(line):
            return []
        # An answer that is not expected is the late one of a repeated command.
        return [] if _ANSWER.fullmatch(line) else [Dropped(*garbage(len(line)))]

    # --- to the module ---------------------------------------------------------------------------

    def _transmit(
        self, destination: str, payload: bytes, now: int
    ) -> Transmission | CannotSend | None:
        if self._is_hex:
            payload = payload.hex().upper().encode()
        if len(payload) > LONGEST:
            text = f"{len(payload)} bytes, the module's limit is {LONGEST}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if self._module is None or self._is_busy(now):
            return NOT_YET
        wire = b"AT+SEND=%s,%d,%s\r\n" % (destination.encode(), len(payload), payload)
        sending_ns = len(wire) * self._byte_ns + self._module.air_ns(len(payload))
        self._quiet.time_ns = now + sending_ns
        return self._begin_packet(wire, self._sent(ns_to_s(sending_ns)), now)

    def _sent(self, sending_s: float) -> LineScript[Event, str | None]:
        found = yield AskLine(b"", OK, ERROR, timeout_s=sending_s + self._settings.reply_timeout_s)
        if found is None:
            return PacketRefused.NO_STATUS
        if found.re is OK:
            return None
        yield _error_notice(int(found[1]))
        return error_reason(int(found[1]))

    # --- as text ---------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Bytes of either direction as text; never raises."""
        return self._described(RylrDecoder(), frame)

    def _item_text(self, item: Item) -> str:
        error = ERROR.search(item) if isinstance(item, bytes) else None
        return super()._item_text(item) + (f" ({error_text(int(error[1]))})" if error else "")


def _error_notice(code: int) -> Notice:
    return Notice(f"the module reports: {error_text(code)} (+ERR={code})")
