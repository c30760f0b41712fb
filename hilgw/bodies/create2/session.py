"""The session of body `create2`: handshake, drive commands, the stream of sensor values.

Start, then the mode, a stop and the stream; the robot is there with the first good frame that
reports the mode. A robot that leaves the mode, or is silent, is gone: the session begins anew.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum

from hilgw.bodies._wheel import Wheel
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
from hilgw.bodies.create2.wheels import Odometer, drive, is_cut
from hilgw.bodies.create2.words import describe
from hilgw.control.events import (
    Command,
    Connected,
    DeviceSettings,
    Disconnected,
    Event,
    LedValue,
    MotorCommand,
    Notice,
    PacketOut,
    Refused,
    SensorValue,
    StopReason,
    Write,
)
from hilgw.control.safety import Mode
from hilgw.devices.kinds import LED, SENSOR, Devices, Value
from hilgw.devices.lookup import look_up
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_MS, NS_PER_S, s_to_ns

START_NS = 50 * NS_PER_MS
"""After Start, which ends every motion, the robot may still send what it was asked for before."""
PATIENCE_NS = NS_PER_S
"""Without a good frame for so long, the handshake begins again."""
ASKED_AT_FIRST = (oi.MODE, 7, 21, 25, 26)
WHEEL_DROP = 0b1100
OFF_ADVICE = "no answer: is the robot switched on (its light), and baudRate its own?"


class _Phase(Enum):
    CLOSED = "closed"
    STARTED = "started"  # Start was sent
    ASKED = "asked"  # mode and stream were sent
    UP = "up"


class Create2Session:
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    def __init__(self, settings: Create2Settings) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()
        for device in devices_of(settings):
            self.devices.add(device)
        self._settings = settings
        self._wanted_mode = oi.SAFE_MODE if settings.mode == "safe" else oi.FULL_MODE
        self._silence_ns = s_to_ns(settings.silence_s)
        self._phase = _Phase.CLOSED
        self._due_ns = 0  # of the handshake, or of the next frame
        self._armed = False
        motors = [self.devices.by_name(name) for name in (LEFT_MOTOR, RIGHT_MOTOR)]
        self._wheels = {each.index: Wheel(each) for each in motors if each is not None}
        self._led_values = dict.fromkeys(LEDS, 0)
        self._bind_sensors()
        self._reader = oi.StreamReader({*ASKED_AT_FIRST, *self._packets})
        self._last: dict[int, int] = {}

    def _bind_sensors(self) -> None:
        """Device index -> the packet with its number."""
        sensors = sensors_of(self._settings)
        self._sources: dict[int, oi.Source] = {}
        self._tables = {}
        self._odometers: dict[int, Odometer] = {}
        encoders = {LEFT_POSITION: oi.LEFT_ENCODER, RIGHT_POSITION: oi.RIGHT_ENCODER}
        for device in self.devices:
            if device.name in encoders:
                self._sources[device.index] = oi.Source(encoders[device.name])
                self._odometers[device.index] = Odometer(self._settings.wheel_radius)
            elif device.name in sensors:
                sensor = sensors[device.name]
                self._sources[device.index] = oi.SOURCES[sensor.packet]
                self._tables[device.index] = sensor.table
        self._packets = {source.packet for source in self._sources.values()}
        self._enabled = self._always_on()

    def _always_on(self) -> set[int]:
        names = self._settings.always_on
        return {each.index for each in self.devices if each.name in names}

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        """The port is open: the angles of the wheels begin at 0."""
        self._bind_sensors()
        self._led_values = dict.fromkeys(LEDS, 0)
        self._armed = False
        return self._start(now)

    def close(self) -> list[Event]:
        """The connection is gone. **The robot drives on**: it has no watchdog."""
        was_up = self._phase is _Phase.UP
        self._phase = _Phase.CLOSED
        self._armed = False
        return [Disconnected("connection closed")] if was_up else []

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is _Phase.CLOSED:
            return []
        events: list[Event] = []
        for values in self._reader.feed(data):
            events += self._frame(values, now)
        self.counts["noise"] = self._reader.dropped["noise"]
        return events

    def next_deadline(self) -> int | None:
        if self._phase is _Phase.CLOSED:
            return None
        dues = [wheel.next_deadline() for wheel in self._wheels.values()]
        return min([self._due_ns, *(due for due in dues if due is not None)])

    def expire(self, now: int) -> list[Event]:
        if self._phase is _Phase.CLOSED:
            return []
        if now >= self._due_ns:
            return self._overdue(now)
        moved = [wheel.expire(now) for wheel in self._wheels.values()]
        return [Write(self._drive())] if any(moved) and self._phase is _Phase.UP else []

    def describe(self, data: bytes, *, received: bool) -> str:
        return describe(data, received=received)

    def _start(self, now: int) -> list[Event]:
        self._phase = _Phase.STARTED
        self._due_ns = now + START_NS
        for wheel in self._wheels.values():
            wheel.stop()
        return [Write(oi.START)]

    def _overdue(self, now: int) -> list[Event]:
        if self._phase is _Phase.STARTED:
            self._phase = _Phase.ASKED
            self._due_ns = now + PATIENCE_NS
            self._reader.clear()
            self._last.clear()
            mode = oi.SAFE if self._wanted_mode == oi.SAFE_MODE else oi.FULL
            return [Write(mode + oi.STOP + oi.stream(ASKED_AT_FIRST))]
        if self._phase is _Phase.ASKED:
            self.counts["retries"] += 1
            return [Notice(self._trouble()), *self._start(now)]
        self.counts["silences"] += 1
        lost = Disconnected(f"silent for {self._settings.silence_s:g} s")
        return [lost, *self._start(now)]

    def _trouble(self) -> str:
        """Why the handshake does not end, in words."""
        if not self._last:
            return OFF_ADVICE
        causes = []
        if self._last.get(7, 0) & WHEEL_DROP:
            causes.append("a wheel hangs in the air")
        if self._last.get(21, 0):
            causes.append("it is charging")
        mode = oi.MODES[self._last[oi.MODE]]
        cause = f": {' and '.join(causes)}" if causes else ""
        return f"the robot stays in {mode} mode{cause}"

    # --- from the robot -----------------------------------------------------------------------

    def _frame(self, values: dict[int, int], now: int) -> list[Event]:
        mode = values.get(oi.MODE, -1)
        if not 0 <= mode < len(oi.MODES):
            self.counts["strange"] += 1
            return []
        if self._phase is _Phase.UP:
            self.counts["frames"] += 1
            if mode != self._wanted_mode:
                self.counts["mode_lost"] += 1
                text = f"the robot went from {self._settings.mode} to {oi.MODES[mode]} mode"
                return [Disconnected(text), *self._start(now)]
            self._due_ns = now + self._silence_ns
            return self._report(values)
        if self._phase is not _Phase.ASKED or values.keys() != set(ASKED_AT_FIRST):
            return []
        self._last = values
        if mode != self._wanted_mode:
            return []
        self._phase = _Phase.UP
        self._due_ns = now + self._silence_ns
        events: list[Event] = [Write(self._request())]
        if any(self._led_values.values()):
            events.append(Write(self._leds()))
        charge = f"battery {values[25]} of {values[26]} mAh"
        return [*events, Connected(f"Create 2 in {self._settings.mode} mode, {charge}")]

    def _report(self, values: dict[int, int]) -> list[Event]:
        """The values of the enabled sensors; a frame that was requested before may lack some."""
        return [
            SensorValue(index, self._value(index, source, values[source.packet]))
            for index, source in self._sources.items()
            if index in self._enabled and source.packet in values
        ]

    def _value(self, index: int, source: oi.Source, raw: int) -> Value:
        if index in self._odometers:
            return self._odometers[index].read(raw)
        number = raw if source.bit < 0 else raw >> source.bit & 1
        return float(look_up(self._tables[index], number))

    # --- from the control loop ----------------------------------------------------------------

    def command(self, command: Command, now: int) -> list[Event]:
        """A command to a wheel, which the control loop has checked."""
        index = command.index
        wheel = self._wheels.get(index)
        if self._phase is not _Phase.UP:
            return self._refuse(index, RequestRefused.DOWN, "the robot is not connected")
        if wheel is None:
            return self._unknown(index, "is not a motor")
        refusal = wheel.command(command, now)
        if refusal is not None:
            return self._refuse(index, refusal.reason, refusal.text)
        self._armed = True
        self.counts["commands"] += 1
        events: list[Event] = [Write(self._drive())]
        radius = self._settings.wheel_radius
        if is_cut(wheel.velocity, radius):
            fastest = oi.FASTEST_MM_S / 1000 / radius
            text = f"'{wheel.device.name}': velocities beyond {fastest:.4g} rad/s are cut to it"
            events.append(Notice(text))
        return events

    def stop_command(self, index: int, mode: Mode) -> Command | None:
        """The command that would stop this motor in any mode."""
        return MotorCommand(index, "velocity", 0.0) if index in self._wheels else None

    def stop_commands(self) -> list[Command]:
        """The commands that `stop` would send now. Changes nothing."""
        if not self._armed or self._phase is _Phase.CLOSED:
            return []
        return [MotorCommand(index, "velocity", 0.0) for index in self._wheels]

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        """Stops both wheels; does nothing unless a command came since the last."""
        if not self._armed or self._phase is _Phase.CLOSED:
            return []
        self._armed = False
        for wheel in self._wheels.values():
            wheel.stop()
        self.counts["stops"] += 1
        self.counts[f"stop_{reason}"] += 1
        return [Write(oi.STOP)]

    def stop_bytes(self) -> bytes:
        """The bytes that `stop` would write now. Changes nothing."""
        return oi.STOP if self.stop_commands() else b""

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Only enabled sensors are in the stream, which comes every 15 ms."""
        device = self.devices.by_index(index)
        if device is None or device.role != SENSOR:
            return self._unknown(index, "is not a sensor")
        before = self._request()
        if period_ms == 0:
            self._enabled.discard(index)
        else:
            self._enabled.add(index)
        request = self._request()
        if request == before or self._phase is not _Phase.UP:
            return []
        return [Write(request)]

    def own_period(self, index: int) -> float | None:
        """Off, unless the configuration has the sensor always on."""
        return None if index in self._always_on() else 0.0

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        """The robot has no radio."""
        return self._unknown(packet.index, "is not an Emitter of the robot")

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """LEDs only. One that is on shines red (led_on) or in its own colour."""
        device = self.devices.by_index(settings.index)
        if not isinstance(settings, LedValue) or device is None or device.kind != LED:
            return self._unknown(settings.index, "cannot be set so")
        if self._phase is not _Phase.UP:
            return self._refuse(settings.index, RequestRefused.DOWN, "the robot is not connected")
        self._led_values[device.name] = settings.value
        return [Write(self._leds())]

    # --- bytes --------------------------------------------------------------------------------

    def _drive(self) -> bytes:
        left, right = (wheel.velocity for wheel in self._wheels.values())
        return drive(left, right, self._settings.wheel_radius)

    def _request(self) -> bytes:
        """The mode, and the packets of the enabled sensors."""
        packets = {self._sources[index].packet for index in self._enabled}
        return oi.stream([oi.MODE, *sorted(packets)])

    def _leds(self) -> bytes:
        """led_play is the spot light, led_step the one of check robot (on a Create 1: play and
        advance, the same bits)."""
        power, play, step = (bool(self._led_values[name]) for name in LEDS)
        return oi.leds(play << 1 | step << 3, 255, 255 * power)

    # --- refusals -----------------------------------------------------------------------------

    def _unknown(self, index: int, text: str) -> list[Event]:
        device = self.devices.by_index(index)
        if device is None:
            text = f"the robot has no device {index}"
            return self._refuse(index, RequestRefused.UNKNOWN_DEVICE, text)
        text = f"{device.kind} '{device.name}' {text}"
        return self._refuse(index, RequestRefused.NOT_SETTABLE, text)

    def _refuse(self, index: int, reason: str, text: str) -> list[Event]:
        self.counts[f"refused_{reason}"] += 1
        return [Refused(index, reason, text)]
