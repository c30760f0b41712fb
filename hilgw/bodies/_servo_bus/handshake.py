"""The handshake: who each servo is, and in which state it was found.

A servo that was found under position control with its torque on holds its present position, where
the settings request it. Every other servo lets go. One whose registers give our numbers another
meaning is refused once all of them stand.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hilgw.bodies._servo_bus.bus import Bus, ServoAnswer, ServoKind, Transaction
from hilgw.bodies._servo_bus.servo import Servo
from hilgw.bodies._servo_bus.settings import HOLD
from hilgw.control.events import ProtocolFailure
from hilgw.protocols.dialogue import Dialogue, DialogueStep, Script


@dataclass(frozen=True, slots=True)
class Ask(DialogueStep):
    """A request to one servo, whose answer has this many data bytes. The bus limits the time."""

    servo: Servo
    request: bytes
    size: int


class Handshake(Dialogue[Transaction | ProtocolFailure, ServoAnswer, None]):
    """models: of the servos that have answered.

    failure: a servo is another one than configured. setups: the first register of
    `ServoKind.setup`, by id.
    """

    def __init__(self, kind: ServoKind, bus: Bus, servos: Iterable[Servo], settings: Any) -> None:
        super().__init__(self._questions(), self._transaction, ProtocolFailure)
        self._kind = kind
        self._bus = bus
        self._servos = {servo.number: servo for servo in servos}
        self._settings = settings
        self.models: dict[int, int] = {}
        self.failure: ProtocolFailure | None = None
        self.setups: dict[int, int] = {}
        self._set: set[int] = set()

    @property
    def is_complete(self) -> bool:
        """True if every servo stands.

        What was written for that has had no answer: it is read back next.
        """
        return not self.unset()

    def missing(self) -> list[int]:
        return [number for number in self._servos if number not in self.models]

    def unset(self) -> list[int]:
        """Return the servos that may move: they did not let go, or hold no position."""
        return [number for number in self._servos if number not in self._set]

    # --- on the bus ---------------------------------------------------------------------------

    def begin(self, now: int) -> None:
        self._put(self.start(now))

    def proceed(self, now: int) -> None:
        """Ask again, or continue, where the answer has not come in time or has another size."""
        if not self.over:
            self._put(self.expire(self.deadline or now))

    def _transaction(self, step: DialogueStep, attempt: int) -> Transaction:
        assert isinstance(step, Ask)
        return Transaction(step.request, [step.servo.number], self._answered, step.size)

    def _answered(self, status: ServoAnswer, now: int) -> None:
        self._put(self.answer(status, now))

    def _put(self, events: list[Transaction | ProtocolFailure]) -> None:
        for event in reversed(events):
            if isinstance(event, Transaction):
                self._bus.add(event, first=True)
            else:
                self.failure = event

    # --- the script ---------------------------------------------------------------------------

    def _usable(self, setup: int) -> int:
        """Return what the first register of `ServoKind.setup` is set to when torque is off."""
        return setup

    @abstractmethod
    def check(self) -> None:
        """Fail where a register gives our numbers another meaning; every servo stands."""

    @abstractmethod
    def _model(self, servo: Servo, data: bytes) -> int:
        """Return the model; raises MismatchError."""

    @abstractmethod
    def _secured(self, servo: Servo) -> bytes:
        """Return the packets after which it stands, also when this computer stops if it can."""

    def _questions(self) -> Script[Transaction | ProtocolFailure, ServoAnswer, None]:
        """Ask all servos for their modes first: a wheel that still turns lets go soon."""
        kind, servos = self._kind, self._servos.values()
        for servo in servos:
            servo.forget()
        # All requests are answered from here on.
        register, level = kind.level
        yield Transaction(kind.write_all(register, dict.fromkeys(self._servos, level)), [])
        for servo in servos:
            # Asked twice: its EEPROM may be busy with the level.
            status = yield Ask(servo, *kind.identity(servo.number), tries=2)
            if status is not None and not status.error:
                model = self.models[servo.number] = self._model(servo, status.data)
                servo.identify(model)
            status = yield self._read(servo, *kind.setup)
            if status is None or status.error or servo.number not in self.models:
                continue
            setup, mode = status.data[0], status.data[-1]
            usable = self._usable(setup)
            self.setups[servo.number] = usable
            if self._settings.on_loss == HOLD and mode in kind.position_modes and usable == setup:
                torque = yield self._read(servo, kind.torque, 1)
                if torque is None:
                    continue
                if not torque.error and torque.data[0]:
                    servo.hold(mode)
                    continue
            cleared = {} if usable == setup else {kind.setup[0]: usable}
            yield from self._release(servo, {kind.torque: 0} | cleared)
        for servo in servos:
            limits = yield self._read(servo, *kind.limits)
            if limits is not None and not limits.error:
                servo.take_limits(limits.data)
            # The last request: a position to hold has to be fresh.
            position = yield self._read(servo, *kind.present)
            if position is None or position.error:
                continue
            servo.take(kind.reading(position.data)[0])
            if servo.torque is not None:  # else it may still turn: the next handshake tries again
                yield Transaction(self._secured(servo), [])
                self._set.add(servo.number)

    def _read(self, servo: Servo, register: int, size: int) -> Ask:
        return Ask(servo, self._kind.read(servo.number, register, size), size)

    def _release(
        self, servo: Servo, writes: Mapping[int, int]
    ) -> Script[Transaction | ProtocolFailure, ServoAnswer, None]:
        """Let go with these writes; its torque stays unknown where one has failed."""
        for register, amount in writes.items():
            written = yield Ask(servo, self._kind.write(servo.number, register, amount), 0)
            if written is None or written.error:
                return
        servo.let_go()
