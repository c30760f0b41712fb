"""One servo: its control table (e-manual, XL430-W250 and XM430-W350), its motion, its watchdog."""

from __future__ import annotations

import math

FAIL, INSTRUCTION, CRC, RANGE, LENGTH, LIMIT, ACCESS = range(1, 8)
ALERT = 0x80
TABLE_BYTES = 147
EEPROM = 64  # addresses below are locked while the torque is on
MODEL, FIRMWARE, ID, RETURN_DELAY, MODE = 0, 6, 7, 9, 11
CURRENT_LIMIT, PWM_LIMIT, VELOCITY_LIMIT, MAX_POSITION, MIN_POSITION = 38, 36, 44, 48, 52
TORQUE, STATUS_RETURN, HARDWARE_ERROR, WATCHDOG = 64, 68, 70, 98
GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, PROFILE_VELOCITY, GOAL_POSITION = 100, 102, 104, 112, 116
MOVING, LOAD, VELOCITY, POSITION, VOLTAGE, TEMPERATURE = 122, 126, 128, 132, 144, 146
# Registers that may be written: address -> size.
WRITABLE = {
    7: 1, 8: 1, 9: 1, 10: 1, 11: 1, 12: 1, 13: 1, 20: 4, 24: 4, 31: 1, 32: 2, 34: 2, 36: 2, 38: 2,
    44: 4, 48: 4, 52: 4, 63: 1, 64: 1, 65: 1, 68: 1, 76: 2, 78: 2, 80: 2, 82: 2, 84: 2, 88: 2,
    90: 2, 98: 1, 100: 2, 102: 2, 104: 4, 108: 4, 112: 4, 116: 4,
}  # fmt: skip
GOALS = (GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, 108, PROFILE_VELOCITY, GOAL_POSITION)
RPM = 0.229  # unit of velocity
PULSES = 4096
MODES = {1060: (1, 3, 4, 16), 1020: (0, 1, 3, 4, 5, 16)}
FASTEST_RPM = 61.0


class Servo:
    """`tripped` is the state of its bus watchdog, which stops it."""

    def __init__(self, number: int, model: int, return_delay_us: int) -> None:
        self.model = model
        self.tripped = False
        self.heard_ns = 0
        self.moved_ns = 0
        self.pulses = 2048.0
        self.speed = 0.0  # pulses/s
        self.staged: tuple[int, bytes] | None = None
        self._first = {ID: (number, 1), RETURN_DELAY: (return_delay_us // 2, 1)}
        self.table = bytearray(TABLE_BYTES)
        self.boot()

    def boot(self) -> None:
        """Power on: the torque is off."""
        self.table = bytearray(TABLE_BYTES)
        for address, value, size in (
            (MODEL, self.model, 2), (FIRMWARE, 45, 1), (8, 1, 1), (MODE, 3, 1), (24, 10, 4),
            (31, 72, 1), (PWM_LIMIT, 885, 2), (VELOCITY_LIMIT, 265, 4), (MAX_POSITION, 4095, 4),
            (STATUS_RETURN, 2, 1), (GOAL_PWM, 885, 2), (VOLTAGE, 120, 2), (TEMPERATURE, 31, 1),
        ):  # fmt: skip
            self.put(address, value, size)
        if self.model == 1020:
            self.put(CURRENT_LIMIT, 1193, 2)
            self.put(GOAL_CURRENT, 1193, 2)
        for address, (value, size) in self._first.items():
            self.put(address, value, size)
        self.tripped, self.speed = False, 0.0
        self._show()

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

    def read(self, address: int, size: int) -> bytes | None:
        return bytes(self.table[address : address + size]) if address + size <= 661 else None

    def write(self, address: int, data: bytes) -> int:
        """Writes adjacent registers; the error number, 0 for none."""
        at = 0
        while at < len(data):
            size = WRITABLE.get(address + at, 0)
            if size == 0 or at + size > len(data):
                return ACCESS if size == 0 else LENGTH
            error = self._write_one(address + at, data[at : at + size])
            if error:
                return error
            at += size
        return 0

    def _write_one(self, address: int, data: bytes) -> int:
        value = int.from_bytes(data, "little", signed=len(data) > 1)
        if address < EEPROM and self.torque:
            return ACCESS
        if self.tripped and address in GOALS:
            return ACCESS
        error = self._limit(address, value)
        if error:
            return error
        self.table[address : address + len(data)] = data
        if address == WATCHDOG:
            self.tripped = False
        elif address == MODE:
            self._reset_goals()
        elif address == TORQUE and value:
            self.put(GOAL_POSITION, math.floor(self.pulses), 4)
            self.put(GOAL_VELOCITY, 0, 4)
        return 0

    def _limit(self, address: int, value: int) -> int:
        low, high = {
            MODE: (0, 16),
            TORQUE: (0, 1),
            WATCHDOG: (0, 127),
            GOAL_PWM: (-self.get(PWM_LIMIT, 2), self.get(PWM_LIMIT, 2)),
            GOAL_CURRENT: (-self.get(CURRENT_LIMIT, 2), self.get(CURRENT_LIMIT, 2)),
            GOAL_VELOCITY: (-self.get(VELOCITY_LIMIT, 4), self.get(VELOCITY_LIMIT, 4)),
            GOAL_POSITION: (self.get(MIN_POSITION, 4), self.get(MAX_POSITION, 4))
            if self.table[MODE] == 3
            else (-1_048_575, 1_048_575),
            PROFILE_VELOCITY: (0, 32767),
        }.get(address, (-(2**31), 2**31))
        if address == MODE and value not in MODES[self.model]:
            return RANGE
        if low <= value <= high:
            return 0
        return LIMIT if address in GOALS else RANGE

    def _reset_goals(self) -> None:
        """A new mode resets goal PWM and the profile."""
        self.put(GOAL_PWM, self.get(PWM_LIMIT, 2), 2)
        self.put(108, 0, 4)
        self.put(PROFILE_VELOCITY, 0, 4)
        self.put(GOAL_VELOCITY, 0, 4)

    # --- time ---------------------------------------------------------------------------------

    def heard(self, now: int) -> None:
        """An instruction came: the watchdog begins anew."""
        self.heard_ns = now

    def move(self, now: int) -> None:
        """Turns until `now`, and trips the bus watchdog at its time."""
        limit_ns = self.table[WATCHDOG] * 20_000_000
        if limit_ns and not self.tripped and self.torque and now - self.heard_ns > limit_ns:
            self._turn(self.heard_ns + limit_ns)
            self.tripped = True
            self.table[WATCHDOG] = 255
        self._turn(now)
        self._show()

    def _turn(self, now: int) -> None:
        seconds, self.moved_ns = max(0, now - self.moved_ns) / 1e9, max(now, self.moved_ns)
        goal = self._goal_speed()
        if self.table[MODE] in (3, 4, 5):
            way = self.get(GOAL_POSITION, 4) - self.pulses
            reach = min(abs(way), abs(goal) * seconds)
            self.pulses += math.copysign(reach, way)
            self.speed = math.copysign(goal, way) if goal and reach < abs(way) else 0.0
        else:
            self.speed = goal
            self.pulses += goal * seconds

    def _goal_speed(self) -> float:
        """In pulses/s: without torque, with PWM 0 or a tripped watchdog it stands."""
        force = self.get(GOAL_PWM, 2) / 885
        if not self.torque or self.tripped or self.alert or force == 0:
            return 0.0
        if self.table[MODE] in (3, 4, 5):
            rpm = self.get(PROFILE_VELOCITY, 4) * RPM or FASTEST_RPM
            return min(rpm, FASTEST_RPM * abs(force)) * PULSES / 60
        if self.table[MODE] != 1:
            return 0.0
        rpm = self.get(GOAL_VELOCITY, 4) * RPM
        return math.copysign(min(abs(rpm), FASTEST_RPM * abs(force)), rpm) * PULSES / 60

    def _show(self) -> None:
        if self.table[MODE] == 3 and not self.torque:
            self.pulses %= PULSES
        self.table[MOVING] = int(self.moves)
        self.put(POSITION, math.floor(self.pulses), 4)
        self.put(VELOCITY, round(self.speed * 60 / PULSES / RPM), 4)
        self.put(LOAD, 100 if self.moves else 0, 2)
