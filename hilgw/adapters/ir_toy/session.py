"""The session of a USB IR Toy: packets to infra-red bursts and back, sans-I/O."""

from collections import deque
from dataclasses import replace

from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Notice,
    NotReady,
    Ready,
    Refused,
    StationSettings,
    Transmission,
    Write,
)
from hilgw.adapters.ir_toy.packets import Burst, RawPackets, packets_for
from hilgw.adapters.ir_toy.reasons import IrToyDropped
from hilgw.adapters.ir_toy.receiver import IrReceiver, Reception, describe, encode_burst
from hilgw.adapters.ir_toy.sample_mode import (
    APART_NS,
    BurstEnded,
    BurstStarted,
    Phase,
    Report,
    Restarted,
    SampleBytes,
    SampleMode,
    Sampling,
)
from hilgw.adapters.ir_toy.settings import RAW, IrToySettings, carrier_of
from hilgw.medium.packet import Packet
from hilgw.protocols.ir import CODECS, Code
from hilgw.protocols.ir.base import SHORT_FRAME, TOGGLE, WHOLE_FRAME
from hilgw.protocols.ir.nec import REPEAT_FRAME
from hilgw.protocols.ir.receiver import Held, Pressed
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.units import NS_PER_MS, NS_PER_US, earliest

LONGEST_WAIT_NS = 500 * NS_PER_MS  # for the end of a code being received; then we transmit over it
LEAD_NS = APART_NS  # least time from the command to the light

_STRANGE = Dropped(IrToyDropped.STRANGE, "light that is not a code of this kind")
_REPEAT = Dropped(IrToyDropped.REPEAT, "a repeated code of a held key")


class IrToySession:
    """The AdapterSession of a USB IR Toy.

    A packet is one burst, or many with a framing: it is delivered when the last one was sent.
    """

    def __init__(self, settings: IrToySettings, common: StationSettings) -> None:
        self._settings = settings
        self._codec = None if settings.code == RAW else CODECS[settings.code]
        traits = self._codec.traits if self._codec else None
        self._gap_us = traits.gap_us if traits else round(settings.raw_gap_ms * 1000)
        self._sends = settings.sends or (traits.sends if traits else 1)
        self._slot_us = 0  # the longest time from one burst of a packet to the next
        if traits is not None:
            again_us = traits.repeat_window_us if traits.held == WHOLE_FRAME else 0
            self._slot_us = traits.period_us * (self._sends + 1) + again_us
        self._packets = packets_for(settings, common)
        self.channels = self._packets.channels
        self._receiver = IrReceiver(self._codec, self._gap_us)
        self._toy = SampleMode()
        self._every = settings.held_keys == "every"
        self._token = 0
        self._bursts: deque[Burst] = deque()  # of the packet being sent
        self._last: Code | None = None  # transmitted last
        self._toggle = 0
        self._period_us = 0  # of the burst being sent
        self._free_at = 0  # when the next burst may begin
        self._distinct_at = 0  # when the same code counts as another key press
        self._wait_until: int | None = None  # a packet waits for this time
        self._patience_at: int | None = None  # end of the wait for a code being received

    # --- open and close --------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        return self._take(self._toy.open(now), now)

    def close(self) -> list[Event]:
        events = self._refuse_packet(PacketRefused.DOWN)
        self._toy.close()
        events += self._packet_events(self._receiver.interrupt(), 0)
        events += self._packets.close()
        self._wait_until = self._patience_at = None
        self._free_at = self._distinct_at = 0
        return events

    def _refuse_packet(self, reason: RefusedReason) -> list[Event]:
        if not self._bursts:
            return []
        self._bursts.clear()
        return [Refused(self._token, reason)]

    # --- from the toy ----------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        return self._take(self._toy.receive(data, now), now)

    def _take(self, reports: list[Report], now: int) -> list[Event]:
        events: list[Event] = []
        for report in reports:
            match report:
                case SampleBytes(data):
                    events += self._packet_events(self._receiver.feed(data, now), now)
                case Sampling(first):
                    events += self._packet_events(self._receiver.interrupt(), now)
                    events += self._ready() if first else []
                case BurstStarted():
                    self._begin_period(now)
                case BurstEnded(reason):
                    events += self._burst_ended(reason, now)
                case Restarted(reason):
                    events += self._packet_events(self._receiver.interrupt(), now)
                    events += [
                        *self._refuse_packet(PacketRefused.RESET),
                        NotReady(f"the IR Toy {reason}"),
                    ]
                case _:
                    events.append(report)
        return events

    def _ready(self) -> list[Event]:
        toy, settings = self._toy, self._settings
        title = self._codec.traits.title if self._codec else "raw timings"
        return [
            Ready(
                f"USB IR Toy, hardware {toy.hardware}, firmware {toy.firmware}, {title}, "
                f"{carrier_of(settings) / 1000:g} kHz"
            )
        ]

    def _packet_events(self, receptions: list[Reception], now: int) -> list[Event]:
        events: list[Event] = []
        for reception in receptions:
            match reception:
                case Dropped() | Notice():
                    events.append(reception)
                case tuple():
                    assert isinstance(self._packets, RawPackets)
                    events.append(self._packets.received(reception))
                case Pressed(code):
                    events += self._packets.inward(replace(code, toggle=0), now)
                case Held(code):
                    if self._every and code is not None:
                        events += self._packets.inward(replace(code, toggle=0), now)
                    else:
                        events.append(_REPEAT)
                case _:
                    events.append(_STRANGE)
        return events

    # --- to the toy ------------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if self._toy.phase is not Phase.LISTENING or self._bursts:
            return NOT_YET
        bursts = self._packets.outward(packet)
        if isinstance(bursts, CannotSend):
            return bursts
        if (until := self._not_before(bursts[0], now)) > now:
            self._wait_until = until
            return NOT_YET
        self._wait_until = self._patience_at = None
        self._token += 1
        self._bursts = deque(bursts)
        air_time_ns = len(bursts) * self._slot_us * NS_PER_US
        return Transmission(self._begin(bursts[0], now), self._token, air_time_ns)

    def _not_before(self, burst: Burst, now: int) -> int:
        due = self._after_last(burst)
        busy_until = self._receiver.busy_until()
        if busy_until is None or busy_until <= now:
            self._patience_at = None
            return due
        if self._patience_at is None:
            self._patience_at = now + LONGEST_WAIT_NS
        return max(due, min(busy_until, self._patience_at))

    def _after_last(self, burst: Burst) -> int:
        """Return a time early enough for the light to begin when it may."""
        return (self._distinct_at if burst.code == self._last else self._free_at) - LEAD_NS

    def _begin(self, burst: Burst, now: int) -> bytes:
        durations = self._durations(burst)
        air_us = sum(durations)
        least_us = self._codec.traits.period_us * self._sends if self._codec else 0
        self._period_us = max(least_us, air_us + self._gap_us)
        return self._toy.transmit(
            encode_burst(durations), burst.carrier_hz, air_us * NS_PER_US, now
        )

    def _durations(self, burst: Burst) -> list[int]:
        if burst.code is None or self._codec is None:
            return list(burst.durations)
        traits = self._codec.traits
        code = burst.code
        if traits.held == TOGGLE:
            self._toggle ^= 1
            code = replace(code, toggle=self._toggle)
        frame = self._codec.encode(code)
        more = REPEAT_FRAME if traits.held == SHORT_FRAME else frame
        durations = list(frame)
        for _ in range(self._sends - 1):
            durations += (traits.period_us - sum(frame), *more)
            frame = more
        return durations

    def _begin_period(self, now: int) -> None:
        burst = self._bursts[0]
        self._free_at = self._distinct_at = now + self._period_us * NS_PER_US
        self._last = burst.code
        if self._codec and self._codec.traits.held == WHOLE_FRAME:
            traits = self._codec.traits
            last_frame_us = traits.period_us * (self._sends - 1)
            self._distinct_at = (
                now + (last_frame_us + traits.repeat_window_us + traits.period_us) * NS_PER_US
            )

    def _burst_ended(self, reason: RefusedReason | None, now: int) -> list[Event]:
        if reason is not None:
            return self._refuse_packet(reason)
        self._bursts.popleft()
        if self._bursts:
            return []
        self._free_at += self._packets.pause_ns
        self._distinct_at = max(self._distinct_at, self._free_at)
        return [Delivered(self._token)]

    def _due(self) -> int | None:
        if not self._bursts or self._toy.phase is not Phase.LISTENING:
            return None
        return self._after_last(self._bursts[0])

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        return earliest(
            self._toy.deadline,
            self._receiver.next_deadline(),
            self._packets.next_deadline(),
            self._wait_until,
            self._due(),
        )

    def expire(self, now: int) -> list[Event]:
        if self._wait_until is not None and now >= self._wait_until:
            self._wait_until = None
        events = self._packet_events(self._receiver.expire(now), now)
        if self._receiver.wrong_mode:
            events += self._take(self._toy.restart("left sample mode", now), now)
        events += self._packets.expire(now)
        events += self._take(self._toy.expire(now), now)
        due = self._due()
        if due is not None and now >= due:
            events.append(Write(self._begin(self._bursts[0], now)))
        return events

    def describe(self, frame: bytes) -> str:
        return describe(frame, self._codec)
