"""Infrared light between the mocks of one air: emitters and receivers.

An emitter needs no free band: a receiver sees light while any emitter in reach is on, so codes
that overlap in time spoil each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from firmware_mocks.air import Air, Signal

Point = tuple[float, float, float]
FRAME_GAP_NS = 5_500_000  # a longer space than in any frame: the next mark begins a new one


@dataclass(frozen=True)
class Placement:
    """The position and direction of an emitter or receiver.

    cone: full angle in radians, None: all around. range_m: of an emitter.
    """

    position: Point = (0.0, 0.0, 0.0)
    facing: Point = (1.0, 0.0, 0.0)
    cone: float | None = None
    range_m: float = 10.0

    def faces(self, point: Point) -> bool:
        """Return whether the point is inside the cone."""
        if self.cone is None:
            return True
        towards = [there - here for there, here in zip(point, self.position, strict=True)]
        length = math.hypot(*towards) * math.hypot(*self.facing)
        if length == 0.0:
            return True
        along = sum(a * b for a, b in zip(towards, self.facing, strict=True)) / length
        return math.acos(max(-1.0, min(1.0, along))) <= self.cone / 2 + 1e-9

    def reaches(self, other: Placement) -> bool:
        """Return whether light of an emitter here reaches a receiver there."""
        near = math.dist(self.position, other.position) <= self.range_m
        return near and self.faces(other.position) and other.faces(self.position)


class IrReceiver:
    """An infrared receiver. changed: called with each edge, True when a mark begins.

    For the air it is a radio without a band.
    """

    band: Hashable = None
    sensitivity_dbm = 0.0

    def __init__(
        self,
        name: str,
        owner: object,
        placement: Placement,
        changed: Callable[[bool, int], None],
    ) -> None:
        self.name = name
        self.owner = owner
        self.placement = placement
        self._changed = changed
        self._emitters: set[IrEmitter] = set()

    @property
    def position(self) -> Point:
        return self.placement.position

    @position.setter
    def position(self, point: Point) -> None:
        self.placement = replace(self.placement, position=point)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        return False

    @property
    def lit(self) -> bool:
        return bool(self._emitters)

    def see(self, emitter: IrEmitter, on: bool, now: int) -> None:
        """Note that an emitter in reach was switched on or off."""
        before = self.lit
        if on:
            self._emitters.add(emitter)
        else:
            self._emitters.discard(emitter)
        if self.lit != before:
            self._changed(self.lit, now)


class IrEmitter:
    """An infrared LED. Receivers of its own owner do not see it.

    Each receiver misses a whole frame with the air's chance of loss.
    """

    def __init__(self, owner: object, air: Air, placement: Placement) -> None:
        self.owner = owner
        self.placement = placement
        self._air = air
        self.on = False
        self._off_since: int | None = None
        self._reached: list[IrReceiver] = []
        self._missing: set[IrReceiver] = set()

    def switch(self, on: bool, now: int) -> None:
        if on == self.on:
            return
        self.on = on
        if on:
            self._find_receivers(now)
        else:
            self._off_since = now
        for receiver in self._reached:
            receiver.see(self, on, now)

    def _find_receivers(self, now: int) -> None:
        # The receivers in reach. Loss is drawn once for a frame.
        receivers: list[IrReceiver] = [
            radio
            for radio in self._air.radios
            if isinstance(radio, IrReceiver)
            and radio.owner is not self.owner
            and self.placement.reaches(radio.placement)
        ]
        if self._off_since is None or now - self._off_since >= FRAME_GAP_NS:
            chance, loss = self._air.random.random, self._air.loss
            self._missing = {receiver for receiver in receivers if loss and chance() < loss}
        self._reached = [receiver for receiver in receivers if receiver not in self._missing]
