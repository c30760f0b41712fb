"""A port that spoils what passes through it: noise, lost bytes. Repeatable by its seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hilgw.transports.base import DeviceSide

LONGEST_BURST = 8


class FaultyDevice:
    """A `hilgw.transports.base.DeviceSide` around another one.

    noise: the chance that a burst of random bytes comes before what is sent. loss: the chance of
    each byte to be lost. Both may be changed at any time, and hold for both directions.
    """

    def __init__(
        self, device: DeviceSide, *, seed: int, noise: float = 0.0, loss: float = 0.0
    ) -> None:
        self.path = device.path
        self.plugged = device.plugged
        self.noise = noise
        self.loss = loss
        self._device = device
        self._random = random.Random(seed)

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None:
        def spoilt(data: bytes, host_baud: int | None) -> None:
            if data := self._spoil(data):
                on_data(data, host_baud)

        self._device.start(spoilt)

    def write(self, data: bytes) -> None:
        if data := self._spoil(data):
            self._device.write(data)

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self._device.set_line(baud_rate, bits_per_byte)

    def unplug(self) -> None:
        self.plugged = False
        self._device.unplug()

    def plug(self) -> None:
        self._device.plug()
        self.plugged = self._device.plugged

    def close(self) -> None:
        self.plugged = False
        self._device.close()

    @property
    def on_modem_line(self) -> Any:
        return self._device.on_modem_line  # type: ignore[attr-defined]  # where the port has them

    @on_modem_line.setter
    def on_modem_line(self, handler: Any) -> None:
        self._device.on_modem_line = handler  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)  # stall, unstall: where the port has them

    def _spoil(self, data: bytes) -> bytes:
        chance = self._random
        if self.loss:
            data = bytes(byte for byte in data if chance.random() >= self.loss)
        if self.noise and chance.random() < self.noise:
            data = chance.randbytes(chance.randint(1, LONGEST_BURST)) + data
        return data
