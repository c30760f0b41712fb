"""A session with one USB IR Toy: packets to light and back, sans-I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    NotReady,
    Ready,
    Refused,
    StationSettings,
    Transmission,
    Write,
)
from hilgw.adapters.ir_toy import describe as words
from hilgw.adapters.ir_toy import samples
from hilgw.adapters.ir_toy.dialogue import (
    APART_NS,
    MS,
    Dialogue,
    Lost,
    Phase,
    Played,
    Said,
    Samples,
    Started,
    Up,
)
from hilgw.adapters.ir_toy.packets import RawPackets, Shot, packets_for
from hilgw.adapters.ir_toy.receiver import IrReceiver, Sound
from hilgw.adapters.ir_toy.settings import RAW, IrToySettings, carrier_of
from hilgw.medium.packet import Packet
from hilgw.protocols.ir import CODECS, Code
from hilgw.protocols.ir.base import SHORT_FRAME, TOGGLE, WHOLE_FRAME
from hilgw.protocols.ir.nec import REPEAT_FRAME
from hilgw.protocols.ir.receiver import Held, Pressed

LONGEST_WAIT_NS = 500 * MS  # for a code under way to end; then it is talked over
LEAD_NS = APART_NS  # from our decision to the light, at least
US = 1_000

_STRANGE = Dropped("strange", "light that is no code of this kind")
_REPEAT = Dropped("repeat", "a key that is held")


class IrToySession:
    """The session of `hilgw.adapters.base` for one USB IR Toy.

    A packet is one shot, or with a framing many: it is delivered when the last was seen.
    """

    def __init__(self, settings: IrToySettings, common: StationSettings) -> None:
        self._settings = settings
        self._codec = None if settings.code == RAW else CODECS[settings.code]
        self._packets = packets_for(settings, common)
        self.channels = self._packets.channels
        self._raw_gap_us = round(settings.raw_gap_ms * 1000)
        self._ear = IrReceiver(self._codec, self._raw_gap_us)
        self._dialogue = Dialogue()
        self._every = settings.held_keys == "every"
        self._token = 0
        self._shots: deque[Shot] = deque()  # of the packet under way
        self._last: Code | None = None  # played last
        self._toggle = 0
        self._period_us = 0  # of the shot under way
        self._free_at = 0  # when the next shot may begin
        self._distinct_at = 0  # when the same code is seen as another press
        self._wait_until: int | None = None  # a packet waits for this
        self._patience_at: int | None = None  # and for a code under way no longer than this

    # --- open and close --------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        return self._take(self._dialogue.open(now), now)

    def close(self) -> list[Event]:
        events = self._give_up("down")
        self._dialogue.close()
        events += self._hear(self._ear.cut(), 0)
        events += self._packets.close()
        self._wait_until = self._patience_at = None
        self._free_at = self._distinct_at = 0
        return events

    def _give_up(self, reason: str) -> list[Event]:
        """The packet under way is lost."""
        if not self._shots:
            return []
        self._shots.clear()
        return [Refused(self._token, reason)]

    # --- from the toy ----------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        return self._take(self._dialogue.receive(data, now), now)

    def _take(self, said: list[Said], now: int) -> list[Event]:
        events: list[Event] = []
        for each in said:
            match each:
                case Samples(data):
                    events += self._hear(self._ear.feed(data, now), now)
                case Up(first):
                    events += self._hear(self._ear.cut(), now)
                    events += self._up() if first else []
                case Started():
                    self._begin_period(now)
                case Played(reason):
                    events += self._played(reason, now)
                case Lost(reason):
                    events += self._hear(self._ear.cut(), now)
                    events += [*self._give_up("reset"), NotReady(f"the IR Toy: {reason}")]
                case _:
                    events.append(each)
        return events

    def _up(self) -> list[Event]:
        toy, settings = self._dialogue, self._settings
        title = self._codec.traits.title if self._codec else "raw timings"
        identity = (
            f"USB IR Toy, hardware {toy.hardware}, firmware {toy.firmware}, {title}, "
            f"{carrier_of(settings) / 1000:g} kHz"
        )
        return [Ready(identity)]

    def _hear(self, sounds: list[Sound], now: int) -> list[Event]:
        events: list[Event] = []
        for sound in sounds:
            match sound:
                case Dropped():
                    events.append(sound)
                case tuple():
                    assert isinstance(self._packets, RawPackets)
                    events.append(self._packets.heard(sound))
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
        if self._dialogue.phase is not Phase.LISTENING or self._shots:
            return NOT_YET
        shots = self._packets.outward(packet)
        if isinstance(shots, CannotSend):
            return shots
        if (until := self._not_before(shots[0], now)) > now:
            self._wait_until = until
            return NOT_YET
        self._wait_until = self._patience_at = None
        self._token += 1
        self._shots = deque(shots)
        air_time_ns = len(shots) * self._slot_us * US
        return Transmission(self._begin(shots[0], now), self._token, air_time_ns)

    @property
    def _slot_us(self) -> int:
        """The longest time from one shot of a packet to the next."""
        if self._codec is None:
            return 0
        traits = self._codec.traits
        again_us = traits.repeat_window_us if traits.held == WHOLE_FRAME else 0
        return traits.period_us * (self._sends + 1) + again_us

    def _not_before(self, shot: Shot, now: int) -> int:
        """When this shot may begin: after the last one, and not over somebody else's code."""
        due = self._after_last(shot)
        busy_until = self._ear.busy_until()
        if busy_until is None or busy_until <= now:
            self._patience_at = None
            return due
        if self._patience_at is None:
            self._patience_at = now + LONGEST_WAIT_NS
        return max(due, min(busy_until, self._patience_at))

    def _after_last(self, shot: Shot) -> int:
        """Early enough for the light to begin when it may."""
        return (self._distinct_at if shot.code == self._last else self._free_at) - LEAD_NS

    def _begin(self, shot: Shot, now: int) -> bytes:
        durations = self._durations(shot)
        air_us = sum(durations)
        least_us = self._codec.traits.period_us * self._sends if self._codec else 0
        self._period_us = max(least_us, air_us + self._gap_us)
        return self._dialogue.begin(samples.burst(durations), shot.carrier_hz, air_us * US, now)

    @property
    def _gap_us(self) -> int:
        return self._codec.traits.gap_us if self._codec else self._raw_gap_us

    @property
    def _sends(self) -> int:
        return self._settings.sends or (self._codec.traits.sends if self._codec else 1)

    def _durations(self, shot: Shot) -> list[int]:
        """The marks and spaces of a shot, the frames of a held key included."""
        if shot.code is None or self._codec is None:
            return list(shot.durations)
        traits = self._codec.traits
        code = shot.code
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
        """The light begins now: reckon when the next may."""
        shot = self._shots[0]
        self._free_at = self._distinct_at = now + self._period_us * US
        self._last = shot.code
        if self._codec and self._codec.traits.held == WHOLE_FRAME:
            traits = self._codec.traits
            last_frame_us = traits.period_us * (self._sends - 1)
            self._distinct_at = (
                now + (last_frame_us + traits.repeat_window_us + traits.period_us) * US
            )

    def _played(self, reason: str, now: int) -> list[Event]:
        if reason:
            return self._give_up(reason)
        self._shots.popleft()
        if self._shots:
            return []
        self._free_at += self._packets.pause_ns
        self._distinct_at = max(self._distinct_at, self._free_at)
        return [Delivered(self._token)]

    def _go_on(self, now: int) -> list[Event]:
        """The next shot of the packet under way, when its time has come."""
        due = self._due()
        if due is None or now < due:
            return []
        return [Write(self._begin(self._shots[0], now))]

    def _due(self) -> int | None:
        if not self._shots or self._dialogue.phase is not Phase.LISTENING:
            return None
        return self._after_last(self._shots[0])

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        dues = (
            self._dialogue.deadline,
            self._ear.next_deadline(),
            self._packets.next_deadline(),
            self._wait_until,
            self._due(),
        )
        return min((due for due in dues if due is not None), default=None)

    def expire(self, now: int) -> list[Event]:
        if self._wait_until is not None and now >= self._wait_until:
            self._wait_until = None
        events = self._hear(self._ear.expire(now), now)
        if self._ear.deaf:
            events += self._take(self._dialogue.lose("it left sample mode", now), now)
        events += self._packets.expire(now)
        events += self._take(self._dialogue.expire(now), now)
        return events + self._go_on(now)

    def describe(self, frame: bytes) -> str:
        return words.describe(frame, self._codec)
