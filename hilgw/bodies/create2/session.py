"""The session of body `create2`: handshake, drive commands, the stream of sensor values.

Start, then the mode, a stop and the stream; the robot is there with the first good frame that
reports the mode. A robot that leaves the mode, or is silent, is gone: the session begins anew.
"""

from dataclasses import dataclass

from hilgw.bodies._common.session import Phase
from hilgw.bodies._common.wheels import WheeledSession
from hilgw.bodies.create2 import oi
from hilgw.bodies.create2.settings import (
    LEDS,
    LEFT_MOTOR,
    LEFT_POSITION,
    RIGHT_MOTOR,
    RIGHT_POSITION,
    Create2Settings,
    devices_of,
    sensors_of,
)
from hilgw.control.events import (
    Connected,
    Disconnected,
    Event,
    HardwareFault,
    Notice,
    ProtocolFailure,
    SensorValue,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import Device, Value, look_up
from hilgw.protocols.dialogue import Dialogue, DialogueStep, Pause, Script
from hilgw.units import NS_PER_MS, NS_PER_S, earliest, s_to_ns

# After Start, which ends every motion, the robot may still send what it was asked for before.
START_NS = 50 * NS_PER_MS
# Between two requests of a mode: at a cliff the robot leaves safe mode again at once.
MODE_PAUSE_NS = NS_PER_S
PATIENCE_S = 1.0  # without a good frame for this long, the handshake begins again
ASKED_AT_FIRST = (oi.MODE, 7, 21, 25, 26)
WHEEL_DROP = 0b1100
OVERCURRENTS = {RIGHT_MOTOR: 0b01000, LEFT_MOTOR: 0b10000}  # of packet 14


Frame = dict[int, int]  # the values of its packets


@dataclass(frozen=True, slots=True)
class Ask(DialogueStep):
    """A question in bytes, which a frame of the stream answers."""

    data: bytes


def _question(step: DialogueStep, attempt: int) -> Event | None:
    return Write(step.data) if isinstance(step, Ask) else None


def _words(motor: str) -> str:
    return f"'{motor}': overcurrent: is the wheel blocked?"


class Create2Session(WheeledSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    def __init__(self, settings: Create2Settings) -> None:
        names = LEFT_MOTOR, RIGHT_MOTOR
        per_mm_s = 1 / 1000 / settings.wheel_radius
        self._rad_per_count = oi.MM_PER_COUNT / 1000 / settings.wheel_radius
        fastest, cut_from = oi.FASTEST_MM_S * per_mm_s, (oi.FASTEST_MM_S + 0.5) * per_mm_s
        super().__init__(settings, devices_of(settings), names, fastest, cut_from)
        self._settings = settings
        self._wanted_mode = oi.SAFE_MODE if settings.mode == "safe" else oi.FULL_MODE
        self._silence_ns = s_to_ns(settings.silence_s)
        self._dialogue: Dialogue[Event, Frame, None] | None = None
        self._due_ns = 0  # of the next frame
        self._mode_ns: int | None = None  # the last request of the mode
        self._led_values = dict.fromkeys(LEDS, 0)
        self._bind_sensors()
        self._reader = oi.StreamReader({*ASKED_AT_FIRST, oi.OVERCURRENT, *self._packets})
        self._last: Frame = {}
        self._overcurrent = 0  # the bits of the last frame

    def _bind_sensors(self) -> None:
        sensors = sensors_of(self._settings)
        self._sources: dict[int, oi.SensorField] = {}
        self._tables = {}
        encoders = {LEFT_POSITION: oi.LEFT_ENCODER, RIGHT_POSITION: oi.RIGHT_ENCODER}
        for device in self.devices:
            if device.name in encoders:
                self._sources[device.index] = oi.SensorField(encoders[device.name])
                self._odometers.setdefault(device.index, Odometer(0x10000, start=0))
            elif device.name in sensors:
                sensor = sensors[device.name]
                self._sources[device.index] = oi.SOURCES[sensor.packet]
                self._tables[device.index] = sensor.table
        self._packets = {source.packet for source in self._sources.values()}
        self._enabled = set(self._always_on)

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._bind_sensors()
        self._led_values = dict.fromkeys(LEDS, 0)
        self._mode_ns = None
        return self._begin(now)

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        events: list[Event] = []
        for values in self._reader.feed(data):
            events += self._frame(values, now)
        self.counts["noise"] = self._reader.dropped["noise"]
        return events

    def next_deadline(self) -> int | None:
        if self._phase is Phase.CLOSED:
            return None
        due = self._due_ns if self._dialogue is None else self._dialogue.deadline
        return earliest(due, self._wheels_due())

    def expire(self, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        dialogue = self._dialogue
        if dialogue is None and now >= self._due_ns:
            self.counts["silences"] += 1
            return self._lose(f"silent for {self._settings.silence_s:g} s", now)
        if dialogue is not None and (events := dialogue.expire(now)):
            if isinstance(dialogue.step, Ask):
                self._mode_ns = now
            return events
        return [Write(self._drive())] if self._speed_up(now) and dialogue is None else []

    def good_frames(self, data: bytes) -> int:
        return len(oi.StreamReader(self._reader.known).feed(data))

    def describe(self, data: bytes, *, received: bool) -> str:
        return oi.describe(data, received=received)

    def _end(self) -> None:
        """Forget the connection. **The robot drives on**: it has no watchdog."""
        self._dialogue = None

    # --- the handshake ------------------------------------------------------------------------

    def _begin(self, now: int) -> list[Event]:
        self._begin_setup()
        self._overcurrent = 0
        since_ns = MODE_PAUSE_NS if self._mode_ns is None else now - self._mode_ns
        script = self._handshake(max(START_NS, MODE_PAUSE_NS - since_ns))
        dialogue = self._dialogue = Dialogue(script, _question, ProtocolFailure)
        return dialogue.start(now)

    def _lose(self, text: str, now: int) -> list[Event]:
        return [Disconnected(text), *self._begin(now)]

    def _handshake(self, pause_ns: int) -> Script[Event, Frame, None]:
        """Send the start, which ends every motion, then the mode, a stop and the stream.

        It ends when a frame reports the mode.
        """
        mode = oi.SAFE if self._wanted_mode == oi.SAFE_MODE else oi.FULL
        while True:
            self._rest()
            yield Write(oi.START)
            yield Pause(pause_ns / NS_PER_S)
            self._reader.clear()
            self._last.clear()
            values = yield Ask(mode + oi.STOP + oi.stream(ASKED_AT_FIRST), timeout_s=PATIENCE_S)
            if values is not None:
                break
            self.counts["retries"] += 1
            yield Notice(self._trouble())
            pause_ns = START_NS  # after PATIENCE_S the mode may be requested at once
        yield Write(self._request())
        if any(self._led_values.values()):
            yield Write(self._leds())
        charge = f"battery {values[25]} of {values[26]} mAh"
        yield Connected(f"Create 2 in {self._settings.mode} mode, {charge}")

    def _trouble(self) -> str:
        if not self._last:
            return "no answer: is the robot switched on (its light), and baudRate its own?"
        causes = []
        if self._last.get(7, 0) & WHEEL_DROP:
            causes.append("a wheel hangs in the air")
        if self._last.get(21, 0):
            causes.append("it is charging")
        mode = oi.MODES[self._last[oi.MODE]]
        cause = f": {' and '.join(causes)}" if causes else ""
        return f"the robot stays in {mode} mode{cause}"

    # --- from the robot -----------------------------------------------------------------------

    def _frame(self, values: Frame, now: int) -> list[Event]:
        mode = values.get(oi.MODE, -1)
        if not 0 <= mode < len(oi.MODES):
            self.counts["strange"] += 1
            return []
        dialogue = self._dialogue
        if dialogue is None:
            self.counts["frames"] += 1
            if mode != self._wanted_mode:
                self.counts["mode_lost"] += 1
                return self._lose(
                    f"the robot went from {self._settings.mode} to {oi.MODES[mode]} mode", now
                )
            self._due_ns = now + self._silence_ns
            events = self._watch_overcurrent(values)
            # A frame that was requested before may lack some of the enabled sensors.
            return events + [
                SensorValue(index, self._value(index, source, values[source.packet]))
                for index, source in self._sources.items()
                if index in self._enabled and source.packet in values
            ]
        if not isinstance(dialogue.step, Ask) or values.keys() != set(ASKED_AT_FIRST):
            return []
        self._last = values
        if mode != self._wanted_mode:
            return []
        self._phase, self._dialogue = Phase.UP, None
        self._due_ns = now + self._silence_ns
        return dialogue.answer(values, now)

    def _watch_overcurrent(self, values: Frame) -> list[Event]:
        before, self._overcurrent = self._overcurrent, values.get(oi.OVERCURRENT, self._overcurrent)
        events: list[Event] = []
        for name, bit in OVERCURRENTS.items():
            motor = self.devices.by_name(name)
            if motor is not None and bit & self._overcurrent & ~before:
                self.counts["overcurrents"] += 1
                events += [HardwareFault(motor.index), Notice(_words(name), once=False)]
        return events

    def faults(self) -> list[str]:
        return [_words(name) for name, bit in OVERCURRENTS.items() if bit & self._overcurrent]

    def _value(self, index: int, source: oi.SensorField, raw: int) -> Value:
        if index in self._odometers:
            return self._odometers[index].read(raw) * self._rad_per_count
        number = raw if source.bit < 0 else raw >> source.bit & 1
        return float(look_up(self._tables[index], number))

    # --- from the control loop ----------------------------------------------------------------

    def _drive_on(self, now: int) -> list[Event]:
        return [Write(self._drive())]

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        self._rest()
        return self._at_rest([Write(oi.STOP)])

    def _stop_data(self) -> bytes:
        return oi.STOP

    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        before = self._request()
        if period_ms == 0:
            self._enabled.discard(index)
        else:
            self._enabled.add(index)
        request = self._request()
        if request == before or self._phase is not Phase.UP:
            return []
        return [Write(request)]

    def _set_led(self, led: Device, value: int, now: int) -> list[Event]:
        """Set an LED: one that is on shines red (led_on) or in its own colour."""
        self._led_values[led.name] = value
        return [Write(self._leds())]

    # --- bytes --------------------------------------------------------------------------------

    def _drive(self) -> bytes:
        left, right = (wheel.value for wheel in self._wheels.values())
        return oi.drive(left, right, self._settings.wheel_radius)

    def _request(self) -> bytes:
        packets = {self._sources[index].packet for index in self._enabled}
        return oi.stream([oi.MODE, *sorted({oi.OVERCURRENT, *packets})])

    def _leds(self) -> bytes:
        """Return the LEDs: led_play is the spot light, led_step the one of check robot.

        On a Create 1 these bits are play and advance.
        """
        power, play, step = (bool(self._led_values[name]) for name in LEDS)
        return oi.leds(play << 1 | step << 3, 255, 255 * power)
