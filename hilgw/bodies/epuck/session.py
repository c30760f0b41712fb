"""The session of body `epuck`: handshake, one exchange in each period, and the way back into step.

Each exchange is one binary request: speeds and LEDs that changed, the sensors that are due, and the
robot's speeds. The last shows whether the answer is whole and the robot has the commanded speeds.
When it has not, or an answer is late, a line of text ends what the robot is in the middle of and
sets its speeds anew: the fence of the exchange.
"""

from collections import deque
from collections.abc import Collection
from typing import Any

from hilgw.bodies._common.session import Phase
from hilgw.bodies._common.wheels import WheeledSession
from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.sercom import Fence, Numbers, SercomAnswer, SercomRequest, handshake
from hilgw.bodies.epuck.settings import (
    LEDS,
    MOTORS,
    SOURCES,
    WHEEL_SOURCES,
    EPuckSettings,
    devices_of,
    sensors_of,
)
from hilgw.control.events import (
    Connected,
    Disconnected,
    Event,
    Notice,
    ProtocolFailure,
    SensorValue,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.exchange import Exchange
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import SENSOR, Device, Devices, Value, look_up
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.dialogue import LineDialogue
from hilgw.units import NS_PER_S, earliest, ms_to_ns, s_to_ns

SILENT = "no answer: is the robot switched on, with sercom, and baudRate its own?"
STRANGE = "no answer to V, only other bytes: is baudRate the robot's own?"
LATE = "answers come later than answer_ms, and are dropped: raise it"


class EPuckSession(WheeledSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    def __init__(self, settings: EPuckSettings) -> None:
        limit = self._limit = sercom.MAX_STEPS_S[settings.model]
        fastest, cut_from = limit * sercom.RAD_PER_STEP, (limit + 1) * sercom.RAD_PER_STEP
        super().__init__(settings, devices_of(settings), MOTORS, fastest, cut_from)
        self._settings = settings
        self._byte_ns = 10 * NS_PER_S // settings.baudRate
        times = self._byte_ns, ms_to_ns(settings.answer_ms), s_to_ns(sercom.SETTLE_S)
        self._exchange: Exchange[SercomRequest | Fence, bytes] = Exchange(self.counts, *times)
        self._period_ns = ms_to_ns(settings.period_ms)
        self._silence_ns = s_to_ns(settings.silence_s)
        self._dialogue: LineDialogue[Event, Any] | None = None
        self._due_ns = self._begun_ns = self._good_ns = 0  # exchanges: next, last, last valid
        self._sent = (0, 0)  # the speeds that the robot has
        self._shown: dict[int, int] = {}  # the LEDs that it has
        self._has_echo = self._is_hurried = False
        self._is_stopping = False  # no valid answer since the last stop
        self._sensors = Sensors(settings, self.devices, self._always_on, self._odometers)
        self._lines = LineSplitter(sercom.LINE_ENDS, sercom.LONGEST_LINE, keeps_tail=True)
        self._lines_seen: deque[bytes] = deque(maxlen=8)  # lines in a handshake
        self._unasked = b""  # the end of what came without a request
        self._found: SercomAnswer | None = None
        self._ground_values = sercom.GROUND_VALUES[0]
        self._forget()

    def _forget(self) -> None:
        self._sensors.reset()
        self._lights = dict.fromkeys(range(len(LEDS)), 0)
        self._at_first = True

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._forget()
        return self._begin(now)

    def _end(self) -> None:
        self._dialogue = None
        self._exchange.clear()

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        if self._dialogue is not None:
            return self._text(data, now)
        answers = self._exchange.take(data, now)
        if answers is None:
            self._exchange.late(0, now)
            self.counts["unasked"] += len(data)
            self._unasked = (self._unasked + data)[-64:]
            return self._reset_seen(self._unasked, now)
        question, _ = answers
        if isinstance(question, Fence):
            return self._reset_seen(question.received, now) or self._back_in_step(question, now)
        return self._answered(question, now) if question.is_answered else []

    def next_deadline(self) -> int | None:
        if self._phase is Phase.CLOSED:
            return None
        if self._dialogue is not None:
            due = self._dialogue.deadline
        else:
            due = self._exchange.next_deadline() or max(self._due_ns, self._exchange.silent_ns)
        return earliest(due, self._wheels_due())

    def expire(self, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        if self._speed_up(now):
            self._hurry(now)
        if self._dialogue is not None:
            return self._follow(self._dialogue.expire(now), now)
        for lost in self._exchange.end_late(now):
            is_check = self._phase is Phase.CHECK
            if is_check and isinstance(lost, SercomRequest) and lost.count_ground():
                self._exchange.clear()  # its size was not known; the next answer must have it
                return self._check(now, lost.ground_values)
            return self._missed(now)
        return [] if self._exchange.waiting else self._ask_if_due(now)

    def describe(self, data: bytes, *, received: bool) -> str:
        return sercom.describe(data, received=received)

    # --- lines of text ------------------------------------------------------------------------

    def _begin(self, now: int) -> list[Event]:
        self._begin_setup()
        self._rest()
        self._lines_seen.clear()
        self._has_echo = False
        self._exchange.clear()
        self._lines.clear()
        self._unasked = b""
        answer_s = self._settings.answer_ms / 1000
        script = handshake(self._lines_seen, answer_s, at_first=self._at_first)
        dialogue = self._dialogue = LineDialogue(script, Write, ProtocolFailure)
        return dialogue.start(now)

    def _text(self, data: bytes, now: int) -> list[Event]:
        events: list[Event] = []
        for line in self._lines.feed(data):
            dialogue = self._dialogue
            if dialogue is None:
                break  # what follows was not asked for
            self._lines_seen.append(line)
            self._has_echo |= line == sercom.VERSION.strip()
            taken = dialogue.take_line(line, now)
            if taken is not None:
                events += self._follow(taken, now)
        return events

    def _follow(self, events: list[Event], now: int) -> list[Event]:
        if self._dialogue is None or not self._dialogue.over:
            return events
        result, self._dialogue = self._dialogue.result, None
        if events and isinstance(events[-1], ProtocolFailure):
            self._phase = Phase.CLOSED
            return events
        if isinstance(result, SercomAnswer):
            self._found, self._phase = result, Phase.CHECK
            self._at_first = False
            self._sent, self._shown = (0, 0), dict.fromkeys(self._lights, 0)
            self._good_ns = now
            return events + self._check(now)
        self.counts["retries"] += 1
        return [*events, Notice(STRANGE if self._lines_seen else SILENT), *self._begin(now)]

    def _reset_seen(self, text: bytes, now: int) -> list[Event]:
        if self._phase is not Phase.UP or not any(word in text for word in sercom.WELCOME):
            return []
        self.counts["resets"] += 1
        return self._lose("the robot was reset", now)

    # --- exchanges ----------------------------------------------------------------------------

    def _check(self, now: int, ground_values: int = sercom.GROUND_VALUES[-1]) -> list[Event]:
        """Begin the first exchange: no wheel turns before its answer is valid.

        The encoders, from which the angles count, and the ground, whose numbers are counted.
        """
        self._ground_values = ground_values
        return self._begin_exchange(sercom.GROUND * self._sensors.has_ground + "QE", [], now)

    def _ask(self, now: int) -> list[Event]:
        indices = self._sensors.take_due(now)
        return self._begin_exchange(self._sensors.letters(indices), indices, now)

    def _begin_exchange(self, letters: str, indices: list[int], now: int) -> list[Event]:
        request = self._changes() + sercom.ask(letters)
        ground_values, echo = self._ground_values, self._has_echo
        question = SercomRequest(request, letters, self._sent, indices, ground_values, echo)
        self._exchange.asked(question, now)
        self._begun_ns = now
        # A controller that has just commanded does so again after its step: wait for that.
        self._due_ns = now + self._period_ns * (3 if self._is_hurried else 2) // 2
        self._is_hurried = False
        self.counts["exchanges"] += 1
        return [Write(request)]

    def _changes(self) -> bytes:
        data = b""
        if (speeds := self._speeds()) != self._sent:
            data, self._sent = sercom.drive(*speeds), speeds
        for number, state in self._lights.items():
            if state != self._shown[number]:
                data += sercom.led(number, state)
                self._shown[number] = state
        return data

    def _speeds(self) -> tuple[int, int]:
        left, right = self._wheels.values()
        return sercom.steps_s(left.value, self._limit), sercom.steps_s(right.value, self._limit)

    def _hurry(self, now: int) -> None:
        self._is_hurried = True
        if not self._exchange.waiting:
            self._due_ns = min(self._due_ns, now)

    def _ask_if_due(self, now: int) -> list[Event]:
        return self._ask(now) if now >= max(self._due_ns, self._exchange.silent_ns) else []

    def _answered(self, exchange: SercomRequest, now: int) -> list[Event]:
        values = exchange.values()
        if values is None:
            self.counts["damaged"] += 1
            return self._reset_seen(bytes(exchange.received), now) or self._missed(
                now, is_late=False
            )
        self._good_ns = now
        self._is_stopping = False  # the robot has the speeds that were set
        events: list[Event] = []
        if self._phase is Phase.CHECK:
            self._phase = Phase.UP
            self._ground_values = exchange.ground_values
            self._sensors.begin(values)
            settings = self._settings
            events.append(Connected(f"{settings.model}: {self._found}"))
            if settings.model == "e-puck" and "version 2." in str(self._found).lower():
                events.append(
                    Notice("the robot is an e-puck2: set model: e-puck2 for its speed and gyro")
                )
        elif now - self._begun_ns > self._period_ns:
            self.counts["late_periods"] += 1
            if self.counts["late_periods"] == 1:
                events.append(self._too_slow(exchange))
        events += self._sensors.values(exchange.indices, values)
        if self._speeds() != self._sent or self._lights != self._shown:
            self._hurry(now)
        return events + self._ask_if_due(now)

    def _too_slow(self, exchange: SercomRequest) -> Event:
        count = len(exchange.request) + exchange.answer_bytes
        period = self._settings.period_ms
        return Notice(
            f"the robot answers too late for a period of {period:g} ms: {count} bytes take "
            f"{count * self._byte_ns / 1e6:.1f} ms, the rest is its delay; raise period_ms"
        )

    def _missed(self, now: int, *, is_late: bool = True) -> list[Event]:
        self.counts["misses"] += 1
        if self._phase is Phase.CHECK:
            return [Notice("no answer to a binary request"), *self._begin(now)]
        if now - self._good_ns >= self._silence_ns:
            self.counts["silences"] += 1
            return self._lose(f"no valid answer for {self._settings.silence_s:g} s", now)
        return self._resync(now, has_missed=is_late)

    def _resync(self, now: int, *, has_missed: bool = False) -> list[Event]:
        self.counts["resyncs"] += 1
        self._sent = self._speeds()
        self._unasked = b""
        names_late = has_missed and not self._has_echo
        fence = Fence(sercom.drive_line(*self._sent), names_late, is_fence=True)
        self._exchange.clear()
        self._exchange.asked(fence, now)
        return [Write(fence.request)]

    def _back_in_step(self, fence: Fence, now: int) -> list[Event]:
        """After the answer to the fence: what the robot still sends is dropped."""
        if not fence.is_answered:
            return []
        self._exchange.quiet(now)
        self._due_ns = now
        if not fence.has_missed or fence.received.strip().startswith(b"d"):
            return []
        self._exchange.late(1, now)
        return [Notice(LATE)]

    def _lose(self, text: str, now: int) -> list[Event]:
        return [Disconnected(text), *self._begin(now)]

    # --- from the control loop ----------------------------------------------------------------

    def _drive_on(self, now: int) -> list[Event]:
        if self._speeds() != self._sent or now >= self._begun_ns + self._period_ns // 2:
            self._hurry(now)  # the step of the controller and the exchange begin together
        return []

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        self._rest()
        self._is_stopping = True
        is_up = self._phase is Phase.UP
        return self._at_rest(self._resync(now) if is_up else [Write(sercom.STOP)])

    @property
    def _copies(self) -> int:
        """Zero for a robot that is up: its speeds are set anew until it shows that it has them."""
        return 0 if self._phase is Phase.UP else super()._copies

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        return [] if self._phase is Phase.UP else super().stop_again(motors, now)

    def is_idle(self) -> bool:
        return not (self._phase is Phase.UP and self._is_stopping)

    def _stop_data(self) -> bytes:
        return sercom.STOP

    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        self._sensors.switch(index, period_ms, now)
        return []

    def _set_led(self, led: Device, value: int, now: int) -> list[Event]:
        self._lights[LEDS.index(led.name)] = int(value != 0)
        if self._lights != self._shown:
            self._hurry(now)
        return []


class Sensors:
    """The sensors of one robot, by device index.

    Which are enabled and due, and their values in Webots' units.
    """

    def __init__(
        self,
        settings: EPuckSettings,
        devices: Devices,
        always_on: list[int],
        odometers: dict[int, Odometer],
    ) -> None:
        given = sensors_of(settings)
        sources = {**SOURCES, **WHEEL_SOURCES}
        sensors = devices.of_role(SENSOR)
        self._sources = {each.index: sources[each.name] for each in sensors}
        self._tables = {
            each.index: given[each.name].table for each in sensors if each.name in given
        }
        self._always_on = always_on
        self._odometers = odometers
        self._period_ns = ms_to_ns(settings.period_ms)
        self._model = settings.model
        self.reset()

    @property
    def has_ground(self) -> bool:
        return any(source.letter == sercom.GROUND for source in self._sources.values())

    def reset(self) -> None:
        for index, source in self._sources.items():
            if source.letter == sercom.ENCODERS:
                self._odometers.setdefault(index, Odometer(0x10000, start=0))
        self._next_ns = dict.fromkeys(self._always_on, 0)
        self._periods_ns = dict.fromkeys(self._always_on, 0)

    def begin(self, numbers: Numbers) -> None:
        """Rebase the odometers on the counters of the robot; the angles are those from before."""
        for index, odometer in self._odometers.items():
            odometer.read(numbers[sercom.ENCODERS][self._sources[index].place])

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        """Set a period; None: each exchange, 0: off. The next exchange asks for the sensor.

        The next exchange asks for it.
        """
        if period_ms == 0:
            self._next_ns.pop(index, None)
            return
        self._periods_ns[index] = 0 if period_ms is None else ms_to_ns(period_ms)
        self._next_ns[index] = now

    def take_due(self, now: int) -> list[int]:
        """Take the enabled sensors whose period ends nearer to this exchange than to the next."""
        near_ns = now + self._period_ns // 2
        due = [index for index, at in self._next_ns.items() if at <= near_ns]
        for index in due:
            self._next_ns[index] = now + max(self._periods_ns[index], self._period_ns)
        return due

    def letters(self, indices: list[int]) -> str:
        """Return the commands that ask for these sensors, in the order of a request.

        The speeds come last.
        """
        wanted = {self._sources[index].letter for index in indices} | {sercom.SPEEDS}
        return "".join(letter for letter in sercom.LETTERS if letter in wanted)

    def values(self, indices: list[int], numbers: Numbers) -> list[SensorValue]:
        """Return the values of those of these sensors that are still enabled."""
        return [
            SensorValue(index, self._value(index, numbers))
            for index in indices
            if index in self._next_ns
        ]

    def _value(self, index: int, numbers: Numbers) -> Value:
        letter, place = self._sources[index]
        value = numbers[letter]
        if letter == sercom.ENCODERS:
            return self._odometers[index].read(value[place]) / sercom.STEPS_PER_RAD
        table = self._tables[index]
        if place >= 0:
            return float(look_up(table, value[place]))
        if letter == "a":
            vector = sercom.acceleration(value, self._model)
        else:
            vector = tuple(map(float, value))
        return tuple(look_up(table, each) for each in vector)
