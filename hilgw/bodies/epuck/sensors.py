"""The sensors of an e-puck: which are enabled and due, and their values in Webots' units."""

from __future__ import annotations

from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.settings import SOURCES, WHEEL_SOURCES, EPuckSettings, sensors_of
from hilgw.control.events import SensorValue
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import SENSOR, Devices, Value
from hilgw.devices.lookup import look_up
from hilgw.units import ms_to_ns

Numbers = dict[str, tuple[int, ...]]


class Sensors:
    """The sensors of one robot, by device index."""

    def __init__(self, settings: EPuckSettings, devices: Devices, always_on: list[int]) -> None:
        given = sensors_of(settings)
        sources = {**SOURCES, **WHEEL_SOURCES}
        found = devices.of_role(SENSOR)
        self._sources = {each.index: sources[each.name] for each in found}
        self._tables = {each.index: given[each.name].table for each in found if each.name in given}
        self._always_on = always_on
        self._period_ns = ms_to_ns(settings.period_ms)
        self.reset()

    @property
    def has_ground(self) -> bool:
        return any(source.letter == sercom.GROUND for source in self._sources.values())

    def reset(self) -> None:
        """The port was opened: the angles begin at 0, and what is always on is enabled."""
        self._odometers = [Odometer(0x10000) for _ in WHEEL_SOURCES]
        self._next_ns = dict.fromkeys(self._always_on, 0)
        self._periods_ns = dict.fromkeys(self._always_on, 0)

    def rebase(self) -> None:
        """The robot was gone: its angles go on from where they were."""
        for odometer in self._odometers:
            odometer.rebase()

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        """Sets a period; None: each exchange, 0: off. The next exchange asks for it."""
        if period_ms == 0:
            self._next_ns.pop(index, None)
            return
        self._periods_ns[index] = 0 if period_ms is None else ms_to_ns(period_ms)
        self._next_ns[index] = now

    def take_due(self, now: int) -> list[int]:
        """The enabled sensors whose period ends nearer to this exchange than to the next."""
        near_ns = now + self._period_ns // 2
        due = [index for index, at in self._next_ns.items() if at <= near_ns]
        for index in due:
            self._next_ns[index] = now + max(self._periods_ns[index], self._period_ns)
        return due

    def letters(self, indices: list[int]) -> str:
        """The commands that ask for these sensors, in the order of a request; the speeds last."""
        wanted = {self._sources[index].letter for index in indices} | {sercom.SPEEDS}
        return "".join(letter for letter in sercom.LETTERS if letter in wanted)

    def values(self, indices: list[int], numbers: Numbers) -> list[SensorValue]:
        """The values of those of these sensors that are still enabled."""
        return [
            SensorValue(index, self._value(index, numbers))
            for index in indices
            if index in self._next_ns
        ]

    def _value(self, index: int, numbers: Numbers) -> Value:
        letter, place = self._sources[index]
        found = numbers[letter]
        if letter == "Q":
            return self._odometers[place].read(found[place]) / sercom.STEPS_PER_RAD
        table = self._tables[index]
        if place >= 0:
            return float(look_up(table, found[place]))
        vector = sercom.acceleration(found) if letter == "a" else tuple(map(float, found))
        return tuple(look_up(table, each) for each in vector)
