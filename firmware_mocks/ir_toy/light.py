"""Light between the mocks of one air: who shines, who sees it.

Light has no order and no turns: an eye sees light while anybody in its sight shines, so two who
shine at once spoil each other's codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from firmware_mocks.air import Air, Signal

Point = tuple[float, float, float]
FRAME_GAP_NS = 5_500_000  # longer dark than in any frame: what comes next is another one


@dataclass(frozen=True)
class Place:
    """Where something is and where it looks. cone: full angle in radians, None: all around.
    range_m: how far its light is seen."""

    position: Point = (0.0, 0.0, 0.0)
    facing: Point = (1.0, 0.0, 0.0)
    cone: float | None = None
    range_m: float = 10.0

    def looks_at(self, point: Point) -> bool:
        if self.cone is None:
            return True
        towards = [there - here for there, here in zip(point, self.position, strict=True)]
        length = math.hypot(*towards) * math.hypot(*self.facing)
        if length == 0.0:
            return True
        along = sum(a * b for a, b in zip(towards, self.facing, strict=True)) / length
        return math.acos(max(-1.0, min(1.0, along))) <= self.cone / 2 + 1e-9

    def reaches(self, other: Place) -> bool:
        """Whether light from here is seen there."""
        near = math.dist(self.position, other.position) <= self.range_m
        return near and self.looks_at(other.position) and other.looks_at(self.position)


class Eye:
    """An infra-red receiver. changed: called with each change from dark to light and back.

    For the air it is a radio that hears no radio.
    """

    band: Hashable = None
    sensitivity_dbm = 0.0

    def __init__(
        self, name: str, owner: object, place: Place, changed: Callable[[bool, int], None]
    ) -> None:
        self.name = name
        self.owner = owner
        self.place = place
        self._changed = changed
        self._sources: set[Source] = set()

    @property
    def position(self) -> Point:
        return self.place.position

    @position.setter
    def position(self, point: Point) -> None:
        self.place = replace(self.place, position=point)

    def hear(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        return False

    @property
    def sees_light(self) -> bool:
        return bool(self._sources)

    def see(self, source: Source, on: bool, now: int) -> None:
        before = self.sees_light
        if on:
            self._sources.add(source)
        else:
            self._sources.discard(source)
        if self.sees_light != before:
            self._changed(self.sees_light, now)


class Source:
    """Something that shines. It is not seen by its owner's own eye.

    Of each frame, every eye misses all with the air's chance of loss.
    """

    def __init__(self, owner: object, air: Air, place: Place) -> None:
        self.owner = owner
        self.place = place
        self._air = air
        self.on = False
        self._dark_since: int | None = None
        self._lit: list[Eye] = []
        self._missing: set[Eye] = set()

    def shine(self, on: bool, now: int) -> None:
        if on == self.on:
            return
        self.on = on
        if on:
            self._begin(now)
        else:
            self._dark_since = now
        for eye in self._lit:
            eye.see(self, on, now)

    def _begin(self, now: int) -> None:
        """Who sees it now. What is lost is drawn once for a frame."""
        eyes: list[Eye] = [
            radio
            for radio in self._air.radios
            if isinstance(radio, Eye)
            and radio.owner is not self.owner
            and self.place.reaches(radio.place)
        ]
        if self._dark_since is None or now - self._dark_since >= FRAME_GAP_NS:
            chance, loss = self._air.random.random, self._air.loss
            self._missing = {eye for eye in eyes if loss and chance() < loss}
        self._lit = [eye for eye in eyes if eye not in self._missing]
