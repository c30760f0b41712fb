"""The bus: instructions of protocol 2.0, and the answers of its servos in their order."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, RATE_TOLERANCE, Adjustable
from firmware_mocks.dynamixel import packets
from firmware_mocks.dynamixel.packets import BROADCAST
from firmware_mocks.dynamixel.servo import (
    CRC,
    FAIL,
    INSTRUCTION,
    LENGTH,
    MODELS,
    RETURN_DELAY,
    STATUS_RETURN,
    TABLE_BYTES,
    TEMPERATURE,
    WRITABLE,
    Servo,
)
from firmware_mocks.parameters import Parameters, parameter

PING, READ, WRITE, REG_WRITE, ACTION, FACTORY, REBOOT, CLEAR = 1, 2, 3, 4, 5, 6, 8, 16
SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE = 0x82, 0x83, 0x92, 0x93
FAST_SYNC_READ, FAST_BULK_READ = 0x8A, 0x9A
MANY = (SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE, FAST_SYNC_READ, FAST_BULK_READ)
KEEP_ID, KEEP_ID_AND_RATE = 1, 2  # of a factory reset
STEP_NS = 5 * MS
# Parameters that leave the servos as they are.
STATES = (
    "echo", "hardware_error", "volts", "temperature", "brown_out_s", "registers", "resumes", "sag"
)  # fmt: skip


def _ids(name: str, value: Any) -> list[int]:
    numbers = [values.whole(name, part, 0, 252) for part in str(value).strip("[] ").split(",")]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{name}: {value!r} has an id twice")
    return numbers


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a bus."""

    ids: list[int] = parameter("ids of the servos, 0 to 252", "1, 2", _ids)
    model: object = parameter(
        "model number of all servos, or of each: 1060 (XL430-W250), 1020 (XM430-W350, which "
        "measures its current), 2000 (PH42-020-S300-R) or 2020 (PH54-200-S500-R)",
        1060,
        values.unread,
    )
    baud_rate: int = parameter("rate of the bus", 57_600, values.whole, 9600, 4_500_000)
    return_delay_us: int = parameter(
        "time from an instruction to its answer, 0 to 508", 500, values.whole, 0, 508
    )
    echo: bool = parameter(
        "yes: a half-duplex adapter that returns what it sends; no", "no", values.yes
    )
    hardware_error: int = parameter(
        "bits of the hardware error of all servos, e.g. 4: too hot, or 32: overload, with which "
        "the torque goes off, or 1: input voltage, with which it stays on",
        0,
        values.whole,
        0,
        63,
    )
    volts: float = parameter(
        "supply of all servos: below 6 V and above 14 V is a hardware error",
        12,
        values.number,
        0,
        30,
    )
    brown_out_s: float = parameter(
        "a servo that has turned for this long restarts, as with a weak battery: its torque and "
        "its bus watchdog are off (default {default}: never)",
        0,
        values.number,
        0,
        1e6,
    )
    registers: object = parameter(
        "ID:ADDRESS:VALUE, ...: registers that have other values at power on, as 1:11:1 for "
        "velocity control; while the mock runs they change at once",
        "none",
        values.unread,
    )
    resumes: bool = parameter(
        "yes: a servo that its bus watchdog has stopped goes on to its old goal when that is "
        "cleared; no: it waits for a new one",
        "yes",
        values.yes,
    )
    temperature: int = parameter("degrees Celsius of all servos", 31, values.whole, 0, 255)
    sag: int = parameter(
        "pulses by which a load pulls a servo away from the position that it holds",
        0,
        values.whole,
        -2048,
        2048,
    )


class Bus(Adjustable[Settings]):
    """Servos, each with an id and a baud rate of its own: it receives what comes at its rate."""

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self._input = bytearray()
        self._configure()

    def _configure(self) -> None:
        settings = self.settings
        numbers, delay = settings.ids, settings.return_delay_us
        models = _models(settings.model, len(numbers))
        self.uart.baud_rate = settings.baud_rate
        self._fitted = {  # by the id that the parameter names
            number: Servo(number, model, delay, self.uart.baud_rate)
            for number, model in zip(numbers, models, strict=True)
        }
        self._set_states()

    @property
    def servos(self) -> dict[int, Servo]:
        """By id, as they are now."""
        return {servo.number: servo for servo in self._fitted.values()}

    def _set_states(self) -> None:
        settings = self.settings
        fitted = _registers(settings.registers, self._fitted)
        for number, servo in self._fitted.items():
            servo.brown_out_ns = round(settings.brown_out_s * 1e9)
            servo.resumes, servo.sag = settings.resumes, settings.sag
            servo.table[TEMPERATURE] = settings.temperature
            servo.volts = settings.volts
            servo.fail(settings.hardware_error)
            servo.fitted = fitted[number]

    def _fit(self) -> None:
        for servo in self._fitted.values():
            for address, value in servo.fitted.items():
                servo.put(address, value, WRITABLE.get(address, 1))

    def _adopt(self, name: str) -> None:
        if name in STATES:
            self._set_states()
        else:
            self._configure()
        if name == "registers":
            self._fit()

    def reset(self, now: int) -> None:
        self._input.clear()
        self.uart.clear()
        self._set_states()
        for servo in self._fitted.values():
            servo.boot()
            servo.moved_ns = servo.instruction_ns = now
        self._set_states()
        self.timers.start("step", now + STEP_NS, self._step)

    def describe(self) -> str:
        shown = (
            f"{number}: {servo.pulses:.0f} {'moves' if servo.moves else 'stands'}"
            for number, servo in self.servos.items()
        )
        return f"Dynamixel bus, {', '.join(shown)}"

    def _step(self, now: int) -> None:
        self._move(now)
        self.timers.start("step", now + STEP_NS, self._step)

    def _move(self, now: int) -> None:
        for servo in self._fitted.values():
            servo.move(now)

    # --- instructions -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self._move(now)
        if "step" not in self.timers:
            self.timers.start("step", now + STEP_NS, self._step)
        if self.settings.echo:
            self.uart.write(data, now)
        self._match_rate()
        self._input += self.uart.distort(data)
        while (packet := packets.take(self._input)) is not None:
            number, instruction, parameters, right = packet
            if instruction == packets.STATUS:
                continue
            if not right:
                self._answer_to_damage(number, now)
                continue
            listening = list(self._listening())
            for servo in listening:
                servo.instruction_received(now)
            self._execute(number, instruction, parameters, now)
            self._take_rate(listening, now)
            self._move(now)

    def _listening(self) -> Iterator[Servo]:
        host = self.uart.host_baud
        for servo in self._fitted.values():
            rate = servo.baud_rate
            if host is None or abs(host - rate) <= RATE_TOLERANCE * rate:
                yield servo

    def _match_rate(self) -> None:
        host = self.uart.host_baud
        rates = [servo.baud_rate for servo in self._listening()]
        if host is not None and rates:
            self.uart.baud_rate = rates[0]

    def _take_rate(self, servos: list[Servo], now: int) -> None:
        # A new rate holds from the end of the answer to its write.
        rates = {servo.baud_rate for servo in servos}
        if len(rates) == 1 and rates != {self.uart.baud_rate}:

            def change(when: int) -> None:
                (self.uart.baud_rate,) = rates

            self.uart.change(change, now)

    def _answer_to_damage(self, number: int, now: int) -> None:
        if number != BROADCAST:
            for servo in self._meant(number):
                self._answer(servo, now, CRC)

    def _execute(self, number: int, instruction: int, parameters: bytes, now: int) -> None:
        if instruction in MANY:
            if number == BROADCAST:
                self._many(instruction, parameters, now)
            return
        answers = []
        for servo in self._meant(number):
            own = servo.number  # the answer has the id before the write
            error, data = self._one(servo, instruction, parameters)
            quiet = number == BROADCAST and instruction != PING
            level = servo.table[STATUS_RETURN]
            wanted = 0 if instruction == PING else 1 if instruction == READ else 2
            if not quiet and level >= wanted:
                answers.append((servo, _status(servo, own, error, data)))
        if number != BROADCAST and len(answers) > 1:  # servos with one id speak at the same time
            mixed = bytes(map(_low, zip(*(data for _, data in answers), strict=False)))
            answers = [(answers[0][0], mixed)]
        for servo, data in answers:
            self._send(servo, data, now)

    def _meant(self, number: int) -> Iterator[Servo]:
        for servo in sorted(self._listening(), key=lambda each: each.number):
            if number in (servo.number, BROADCAST):
                yield servo

    def _one(self, servo: Servo, instruction: int, parameters: bytes) -> tuple[int, bytes]:
        if instruction == PING:
            return 0, bytes(servo.table[0:2]) + bytes((servo.table[6],))
        if instruction == READ:
            return _read(servo, parameters)
        if instruction == WRITE:
            if len(parameters) < 3:
                return LENGTH, b""
            return servo.write(int.from_bytes(parameters[:2], "little"), parameters[2:]), b""
        if instruction == REG_WRITE:
            servo.staged = int.from_bytes(parameters[:2], "little"), parameters[2:]
            return 0, b""
        if instruction == ACTION:
            staged, servo.staged = servo.staged, None
            return (servo.write(*staged) if staged else FAIL), b""
        if instruction in (REBOOT, FACTORY):
            servo.boot() if instruction == REBOOT else _restore(servo, parameters)
            return 0, b""
        if instruction == CLEAR:
            return 0, b""
        return INSTRUCTION, b""

    def _many(self, instruction: int, parameters: bytes, now: int) -> None:
        # Sync and bulk instructions; servos answer in the order of the request.
        if instruction == FAST_SYNC_READ:
            self._read_fast([(number, parameters[:4]) for number in parameters[4:]], now)
            return
        if instruction == FAST_BULK_READ:
            starts = range(0, len(parameters) - 4, 5)
            asked = [(parameters[at], parameters[at + 1 : at + 5]) for at in starts]
            self._read_fast(asked, now)
            return
        if instruction in (SYNC_READ, SYNC_WRITE):
            head, rest = parameters[:4], parameters[4:]
            size = int.from_bytes(head[2:4], "little")
            if instruction == SYNC_READ:
                for number in rest:
                    self._read_for(number, head, now)
                return
            for position in range(0, len(rest) - size, size + 1):
                self._write_for(rest[position], head[:2] + rest[position + 1 : position + 1 + size])
            return
        position = 0
        while position + 5 <= len(parameters):
            number, head = parameters[position], parameters[position + 1 : position + 5]
            position += 5
            if instruction == BULK_READ:
                self._read_for(number, head, now)
            else:
                size = int.from_bytes(head[2:4], "little")
                self._write_for(number, head[:2] + parameters[position : position + size])
                position += size

    def _read_for(self, number: int, head: bytes, now: int) -> None:
        for servo in self._meant(number):
            if servo.table[STATUS_RETURN]:
                error, data = _read(servo, head)
                self._answer(servo, now, error, data)

    def _read_fast(self, asked: list[tuple[int, bytes]], now: int) -> None:
        # All servos answer in one packet, each behind the one before: it ends at the first that
        # does not answer.
        parts, size = [], sum(int.from_bytes(head[2:4], "little") + 4 for _, head in asked)
        answering: Servo | None = None
        for number, head in asked:
            servo = next(self._meant(number), None)
            if servo is None or not servo.table[STATUS_RETURN]:
                break
            answering = answering or servo
            error, data = _read(servo, head)
            wanted = int.from_bytes(head[2:4], "little")
            parts.append((error | servo.alert, number, data.ljust(wanted, b"\0")))
        if answering is not None:
            self._send(answering, packets.fast_status(parts, size), now)

    def _write_for(self, number: int, parameters: bytes) -> None:
        for servo in self._meant(number):
            if len(parameters) > 2:
                servo.write(int.from_bytes(parameters[:2], "little"), parameters[2:])

    def _answer(self, servo: Servo, now: int, error: int = 0, data: bytes = b"") -> None:
        self._send(servo, _status(servo, servo.number, error, data), now)

    def _send(self, servo: Servo, packet: bytes, now: int) -> None:
        # After the return delay, and after the answers of the servos before.
        when = max(now, self.uart.idle_at(now)) + servo.table[RETURN_DELAY] * 2_000
        self.uart.write(packet, when)


def _status(servo: Servo, number: int, error: int, data: bytes) -> bytes:
    return packets.packet(number, packets.STATUS, bytes((error | servo.alert,)) + data)


def _low(column: tuple[int, ...]) -> int:
    level = 0xFF
    for byte in column:
        level &= byte
    return level


def _restore(servo: Servo, parameters: bytes) -> None:
    # FF: all values; 1: all but the id; 2: all but the id and the baud rate.
    option = parameters[:1]
    kept = 1 if option == bytes((KEEP_ID,)) else 2 if option == bytes((KEEP_ID_AND_RATE,)) else 0
    servo.restore(bytes(servo.table[7 : 7 + kept]))


def _models(given: object, count: int) -> list[int]:
    # The models of the servos: one for all, or one each.
    allowed = [str(model) for model in MODELS]
    parts = [part.strip() for part in str(given).strip("[] ").split(",")]
    models = [int(values.choice("model", part, allowed)) for part in parts]
    if len(models) not in (1, count):
        raise ValueError(f"model: {given!r} has {len(models)} numbers for {count} servos")
    return models * count if len(models) == 1 else models


def _registers(given: object, servos: Collection[int]) -> dict[int, dict[int, int]]:
    registers: dict[int, dict[int, int]] = {number: {} for number in servos}
    text = str(given).strip("[] ")
    for part in text.split(",") if text not in ("", "none", "None") else ():
        numbers = part.strip(" '\"").split(":")
        if len(numbers) != 3:
            raise ValueError(f"registers: {part.strip()!r} is not ID:ADDRESS:VALUE")
        number = values.whole("registers", numbers[0], 0, 252)
        address = values.whole("registers", numbers[1], 0, TABLE_BYTES - 1)
        if number not in registers:
            raise ValueError(f"registers: there is no servo {number}")
        registers[number][address] = values.whole("registers", numbers[2], -(2**31), 2**31 - 1)
    return registers


def _read(servo: Servo, parameters: bytes) -> tuple[int, bytes]:
    if len(parameters) != 4:
        return LENGTH, b""
    address, size = (int.from_bytes(parameters[at : at + 2], "little") for at in (0, 2))
    data = servo.read(address, size)
    return (0, data.ljust(size, b"\0")) if data is not None else (4, b"")
