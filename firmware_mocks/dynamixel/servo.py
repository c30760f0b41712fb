"""A servo: its control table, its motion, its watchdog.

Source: e-manual, XL430-W250, XM430-W350 and PH54-200-S500-R. The table is that of series X. A
servo of series P has the same registers, those of the RAM from address 512 on: Torque Enable is
512 and not 64, Present Position 580 and not 132.
"""

import math
from typing import NamedTuple

FAIL, INSTRUCTION, CRC, RANGE, LENGTH, LIMIT, ACCESS = range(1, 8)
ALERT = 0x80
TABLE_BYTES = 147
EEPROM = 64  # addresses below are locked while the torque is on
MODEL, FIRMWARE, ID, RETURN_DELAY, DRIVE_MODE, MODE = 0, 6, 7, 9, 10, 11
TIME_BASED, TORQUE_ON_BY_GOAL = 0x04, 0x08  # of Drive Mode: Profile Velocity is in ms
MAX_VOLTAGE, MIN_VOLTAGE = 32, 34  # of 0.1 V
PWM_LIMIT, CURRENT_LIMIT, ACCELERATION_LIMIT, VELOCITY_LIMIT = 36, 38, 40, 44
MAX_POSITION, MIN_POSITION, SHUTDOWN = 48, 52, 63
TORQUE, STATUS_RETURN, HARDWARE_ERROR, WATCHDOG = 64, 68, 70, 98
GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, PROFILE_VELOCITY, GOAL_POSITION = 100, 102, 104, 112, 116
MOVING, LOAD, VELOCITY, POSITION, VOLTAGE, TEMPERATURE = 122, 126, 128, 132, 144, 146
# Registers that may be written: address -> size.
WRITABLE = {
    7: 1, 8: 1, 9: 1, 10: 1, 11: 1, 12: 1, 13: 1, 20: 4, 24: 4, 31: 1, 32: 2, 34: 2, 36: 2, 38: 2,
    44: 4, 48: 4, 52: 4, 63: 1, 64: 1, 65: 1, 68: 1, 76: 2, 78: 2, 80: 2, 82: 2, 84: 2, 88: 2,
    90: 2, 98: 1, 100: 2, 102: 2, 104: 4, 108: 4, 112: 4, 116: 4,
}  # fmt: skip
PROFILE_ACCELERATION = 108
# Read only while the bus watchdog has stopped the servo.
GOAL_VALUES = (GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, GOAL_POSITION)
GOALS = (*GOAL_VALUES, PROFILE_ACCELERATION, PROFILE_VELOCITY)
INPUT_VOLTAGE = 0x01  # a bit of the hardware error
RAM_P = 512
BAUD = 8
BAUD_RATES = (9600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000)


class Model(NamedTuple):
    """The constants of a model.

    `rpm` is the unit of velocity, `turn` in pulses, `fastest` in rev/min. Then come the limits of
    PWM, current, acceleration, velocity and position.
    """

    modes: tuple[int, ...]
    rpm: float
    turn: int
    fastest: float
    pwm: int
    current: int
    acceleration: int
    velocity: int
    positions: tuple[int, int]


P_MODES = (0, 1, 3, 4, 16)
MODELS = {
    1060: Model((1, 3, 4, 16), 0.229, 4096, 61.0, 885, 0, 0, 265, (0, 4095)),
    1020: Model((0, 1, 3, 4, 5, 16), 0.229, 4096, 61.0, 885, 1193, 0, 265, (0, 4095)),
    2000: Model(P_MODES, 0.01, 607_500, 29.2, 2009, 4500, 10765, 2920, (-303_454, 303_454)),
    2020: Model(P_MODES, 0.01, 1_003_846, 29.0, 2009, 22740, 9982, 2900, (-501_433, 501_433)),
}
SERIES_P = (2000, 2020)


class Servo:
    """A servo.

    It is `tripped` when its bus watchdog has stopped it, and `resumes` the way to its old goal when
    that is cleared. It turns for `brown_out_ns` until its supply fails for a moment; 0: never.
    `fitted` are registers that have these values at power on. `sag` are the pulses by which a load
    pulls it away from the position that it holds.
    """

    def __init__(self, number: int, model: int, return_delay_us: int, baud_rate: int) -> None:
        self.model = model
        self.traits = MODELS[model]
        self.tripped = False
        self.instruction_ns = 0
        self.moved_ns = 0
        self.pulses = 0.0 if model in SERIES_P else 2048.0
        self.speed = 0.0  # pulses/s
        self.staged: tuple[int, bytes] | None = None
        self.resumes = True
        self.brown_out_ns = self._turned_ns = 0
        self.volts = 12.0
        self.sag = 0
        self.fitted: dict[int, int] = {}
        self._error = 0  # what is wrong besides the supply
        self._way = 0.0  # pulses from where the last goal came to it
        self._rates = list(BAUD_RATES)
        if baud_rate not in BAUD_RATES:
            self._rates[1] = baud_rate  # a rate without a code of its own
        kept = bytes((number, self._rates.index(baud_rate), return_delay_us // 2))
        self.restore(kept)

    def restore(self, kept: bytes = b"") -> None:
        """Set the values of the factory, and power on.

        `kept` holds other values of id, baud rate and return delay.
        """
        self.table = bytearray(TABLE_BYTES)
        traits = self.traits
        for address, value, size in (
            (MODEL, self.model, 2), (FIRMWARE, 45, 1), (ID, 1, 1), (BAUD, 1, 1),
            (RETURN_DELAY, 250, 1), (MODE, 3, 1), (24, 10, 4),
            (31, 72, 1), (MAX_VOLTAGE, 140, 2), (MIN_VOLTAGE, 60, 2), (SHUTDOWN, 52, 1),
            (PWM_LIMIT, traits.pwm, 2), (CURRENT_LIMIT, traits.current, 2),
            (ACCELERATION_LIMIT, traits.acceleration, 4), (VELOCITY_LIMIT, traits.velocity, 4),
            (MIN_POSITION, traits.positions[0], 4), (MAX_POSITION, traits.positions[1], 4),
        ):  # fmt: skip
            self.put(address, value, size)
        self.table[ID : ID + len(kept)] = kept
        self.boot()

    def boot(self) -> None:
        # Power on: the RAM has its defaults, which means no torque and no bus watchdog. A servo of
        # series X measures its angle within one turn only.
        self.table[EEPROM:] = bytes(TABLE_BYTES - EEPROM)
        for address, value, size in (
            (STATUS_RETURN, 2, 1), (TEMPERATURE, 31, 1),
            (GOAL_PWM, self.traits.pwm, 2), (GOAL_CURRENT, self.traits.current, 2),
        ):  # fmt: skip
            self.put(address, value, size)
        for address, value in self.fitted.items():
            self.put(address, value, WRITABLE.get(address, 1))
        self.tripped, self.speed, self._turned_ns = False, 0.0, 0
        if self.model not in SERIES_P:
            self.pulses %= self.traits.turn
        self.fail(0)
        self._show()

    def fail(self, bits: int) -> None:
        """Set the errors besides that of the supply; those in Shutdown switch the torque off."""
        self._error = bits
        low, high = self.get(MIN_VOLTAGE, 2) / 10, self.get(MAX_VOLTAGE, 2) / 10
        supply = 0 if low <= self.volts <= high else INPUT_VOLTAGE
        self.table[HARDWARE_ERROR] = bits | supply
        self.put(VOLTAGE, round(10 * self.volts), 2)
        if self.is_shut_down:
            self.table[TORQUE] = 0

    def supply(self, volts: float) -> None:
        """Set the supply voltage: outside its limits it is a hardware error."""
        self.volts = volts
        self.fail(self._error)

    @property
    def is_shut_down(self) -> bool:
        """There is an error in Shutdown: its torque cannot be switched on."""
        return bool(self.table[HARDWARE_ERROR] & self.table[SHUTDOWN])

    @property
    def baud_rate(self) -> int:
        return self._rates[self.table[BAUD]]

    def get(self, address: int, size: int) -> int:
        return int.from_bytes(self.table[address : address + size], "little", signed=size > 1)

    def put(self, address: int, value: int, size: int) -> None:
        mask = (1 << 8 * size) - 1
        self.table[address : address + size] = (value & mask).to_bytes(size, "little")

    @property
    def number(self) -> int:
        return self.table[ID]

    @property
    def torque(self) -> bool:
        return bool(self.table[TORQUE])

    @property
    def moves(self) -> bool:
        return self.speed != 0.0

    @property
    def alert(self) -> int:
        return ALERT if self.table[HARDWARE_ERROR] else 0

    # --- registers ----------------------------------------------------------------------------

    def _inside(self, address: int) -> int:
        # The address in the table; beyond it for one that the servo does not have.
        if self.model not in SERIES_P or address < EEPROM:
            return address
        return address - RAM_P + EEPROM if address >= RAM_P else 661

    def read(self, address: int, size: int) -> bytes | None:
        address = self._inside(address)
        return bytes(self.table[address : address + size]) if address + size <= 661 else None

    def write(self, address: int, data: bytes) -> int:
        """Write adjacent registers; return the error number, 0 for none."""
        address = self._inside(address)
        position = 0
        while position < len(data):
            size = WRITABLE.get(address + position, 0)
            if size == 0 or position + size > len(data):
                return ACCESS if size == 0 else LENGTH
            error = self._write_one(address + position, data[position : position + size])
            if error:
                return error
            position += size
        return 0

    def _write_one(self, address: int, data: bytes) -> int:
        value = int.from_bytes(data, "little", signed=len(data) > 1)
        if address < EEPROM and self.torque:
            return ACCESS
        if self.tripped and address in GOAL_VALUES:
            return RANGE
        if address == TORQUE and value and self.is_shut_down:
            return ACCESS
        by_goal = address in GOAL_VALUES and self.table[DRIVE_MODE] & TORQUE_ON_BY_GOAL
        if by_goal and not self.torque:
            self._write_one(TORQUE, b"\1")
        error = self._limit(address, value)
        if error:
            return error
        self.table[address : address + len(data)] = data
        if address == GOAL_POSITION:
            self._way = abs(value - self.pulses)
        if address == WATCHDOG:
            if self.tripped and not self.resumes:
                self._stand()
            self.tripped = False
        elif address == MODE:
            self._reset_goals()
        elif address == TORQUE and value:
            self._stand()
        return 0

    def _stand(self) -> None:
        self.put(GOAL_POSITION, math.floor(self.pulses), 4)
        self.put(GOAL_VELOCITY, 0, 4)

    def _limit(self, address: int, value: int) -> int:
        low, high = {
            ID: (0, 252),
            BAUD: (0, len(BAUD_RATES) - 1),
            MODE: (0, 16),
            TORQUE: (0, 1),
            WATCHDOG: (0, 127),
            GOAL_PWM: (-self.get(PWM_LIMIT, 2), self.get(PWM_LIMIT, 2)),
            GOAL_CURRENT: (-self.get(CURRENT_LIMIT, 2), self.get(CURRENT_LIMIT, 2)),
            GOAL_VELOCITY: (-self.get(VELOCITY_LIMIT, 4), self.get(VELOCITY_LIMIT, 4)),
            GOAL_POSITION: (self.get(MIN_POSITION, 4), self.get(MAX_POSITION, 4))
            if self.table[MODE] == 3
            else (-1_048_575, 1_048_575),
            PROFILE_ACCELERATION: (0, self._profile_limit(ACCELERATION_LIMIT)),
            PROFILE_VELOCITY: (0, self._profile_limit(VELOCITY_LIMIT)),
        }.get(address, (-(2**31), 2**31))
        if address == MODE and value not in self.traits.modes:
            return RANGE
        if low <= value <= high:
            return 0
        return LIMIT if address in GOALS else RANGE

    def _profile_limit(self, register: int) -> int:
        return self.get(register, 4) if self.model in SERIES_P else 32767

    def _reset_goals(self) -> None:
        self.put(GOAL_PWM, self.get(PWM_LIMIT, 2), 2)
        self.put(PROFILE_ACCELERATION, 0, 4)
        self.put(PROFILE_VELOCITY, 0, 4)
        self.put(GOAL_VELOCITY, 0, 4)

    # --- time ---------------------------------------------------------------------------------

    def instruction_received(self, now: int) -> None:
        """Restart the watchdog: an instruction came."""
        self.instruction_ns = now

    def move(self, now: int) -> None:
        """Turn until `now`, and trip the bus watchdog at its time."""
        limit_ns = self.table[WATCHDOG] * 20_000_000
        if limit_ns and not self.tripped and self.torque and now - self.instruction_ns > limit_ns:
            self._turn(self.instruction_ns + limit_ns)
            self.tripped = True
            self.table[WATCHDOG] = 255
        self._turned_ns += max(0, now - self.moved_ns) if self.moves else 0
        self._turn(now)
        if 0 < self.brown_out_ns <= self._turned_ns:
            self.boot()
        self._show()

    def _turn(self, now: int) -> None:
        seconds, self.moved_ns = max(0, now - self.moved_ns) / 1e9, max(now, self.moved_ns)
        goal = self._goal_speed()
        if self.table[MODE] in (3, 4, 5):
            way = self.get(GOAL_POSITION, 4) - self.sag - self.pulses
            reach = min(abs(way), abs(goal) * seconds)
            self.pulses += math.copysign(reach, way)
            self.speed = math.copysign(goal, way) if goal and reach < abs(way) else 0.0
        else:
            self.speed = goal
            self.pulses += goal * seconds

    def _goal_speed(self) -> float:
        # The goal in pulses/s: without torque, with PWM 0 or a tripped watchdog it stands.
        force = self.get(GOAL_PWM, 2) / self.traits.pwm
        fastest, unit, turn = self.traits.fastest, self.traits.rpm, self.traits.turn
        if not self.torque or self.tripped or force == 0:
            return 0.0
        if self.table[MODE] in (3, 4, 5):
            profile = self.get(PROFILE_VELOCITY, 4)
            if self.table[DRIVE_MODE] & TIME_BASED and profile:
                rpm = self._way / turn * 60_000 / profile
            else:
                rpm = profile * unit or fastest
            return min(rpm, fastest * abs(force)) * turn / 60
        if self.table[MODE] != 1:
            return 0.0
        rpm = self.get(GOAL_VELOCITY, 4) * unit
        return math.copysign(min(abs(rpm), fastest * abs(force)), rpm) * turn / 60

    def _show(self) -> None:
        turn, unit = self.traits.turn, self.traits.rpm
        if self.table[MODE] == 3 and not self.torque and self.model not in SERIES_P:
            self.pulses %= turn
        self.table[MOVING] = int(self.moves)
        self.put(POSITION, math.floor(self.pulses), 4)
        self.put(VELOCITY, round(self.speed * 60 / turn / unit), 4)
        self.put(LOAD, 100 if self.moves else 0, 2)
