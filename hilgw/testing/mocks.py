"""Firmware mocks for tests: modules behind ports, and the air they share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.engine.mocks import Mock, MockHost, create_mock, new_air
from hilgw.errors import PeerError, UsageError
from hilgw.testing.faulty_device import FaultyDevice
from hilgw.testing.frames import FrameLog, tap, words_of_mock
from hilgw.testing.ports import WAIT_S, Cable
from hilgw.transports.base import DeviceSide
from hilgw.transports.tcp import parse_address
from hilgw.transports.tcp_device import TcpClientDevice, TcpServerDevice
from hilgw.transports.virtual_port import VirtualPort

if TYPE_CHECKING:
    from hilgw.testing.bench import Bench

__tracebackhide__ = True  # a failure is shown in the test

BOOT_S = 0.1  # modules say that they have booted before the test goes on
APART_M = 1.0  # modules stand in a row unless a position is given
POLL_S = 0.005


class AirOfTest:
    """A space that radio mocks share. Called, it makes another one: `air(seed=3, loss=0.1)`."""

    def __init__(self, bench: Bench, host: MockHost) -> None:
        self.host = host
        self._bench = bench

    def __call__(self, *, seed: int = 0, loss: float = 0.0) -> AirOfTest:
        """loss: the chance that one frame misses one radio."""
        return self._bench.new_air(seed, loss)

    @property
    def seed(self) -> int:
        seed: int = getattr(self.host.air, "seed", 0)
        return seed

    @property
    def mocks(self) -> list[Mock]:
        """All that are in it."""
        return self.host.mocks


class MockHandle(Cable):
    """A mock and its port. port: what a program opens, a path (of a network peer HOST:PORT).

    mock: the mock itself, to be looked at; change it by `set`, it runs in another thread.
    """

    def __init__(self, bench: Bench, air: AirOfTest, mock: Mock, device: Any) -> None:
        super().__init__(bench.thread, device)
        self.port = self.path
        self.mock = mock
        self.air = air

    @property
    def name(self) -> str:
        return self.mock.name

    def unplug(self) -> None:
        """Pull the cable: the port vanishes, the module has no power."""
        self._thread.call(self.air.host.unplug, self.mock)

    def plug(self) -> None:
        """Put it back: the module boots, the port is there again."""
        self._thread.call(self.air.host.plug, self.mock)

    def reset(self) -> None:
        """Power cycle in place."""
        self._thread.call(self.air.host.reset, self.mock)

    def set(self, name: str, value: object) -> None:
        """A parameter, as `hilgw mock KIND --list` names them. ValueError says what is allowed."""
        self._thread.call(self.mock.set, name, str(value))

    def describe(self) -> str:
        """What it is now, in words."""
        return self._thread.call(self.mock.describe)

    def wait_for(self, holds: Callable[[Any], Any], timeout_s: float = WAIT_S) -> Any:
        """What `holds(mock)` gives, once it is true. PeerError: it was not, in time."""

        async def look() -> Any:
            end = time.monotonic() + timeout_s
            while not (found := holds(self.mock)):
                if time.monotonic() > end:
                    raise PeerError(f"not within {timeout_s:g} s: {holds}", where=self.name)
                await asyncio.sleep(POLL_S)
            return found

        return self._thread.run(look(), timeout_s + WAIT_S)


class FirmwareMocks:
    """The fixture `firmware_mock`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def __call__(
        self,
        kind: str,
        name: str = "",
        *,
        air: AirOfTest | None = None,
        seed: int = 0,
        link: str | None = None,
        connect: str = "",
        noise: float = 0.0,
        byte_loss: float = 0.0,
        position: tuple[float, float, float] | None = None,
        **parameters: Any,
    ) -> MockHandle:
        """A mock behind a port of its own; parameters as `hilgw mock KIND --list` names them.

        air: the space it shares; by default all mocks of one seed share one. link: the path of
        its port. noise, byte_loss: of its line. connect: HOST:PORT, of a mock that connects to a
        server. ConfigError names a parameter that does not fit.
        """
        space = air or self._bench.air_of_seed(seed)
        kind = kind.replace("-", "_")
        name = name or f"{kind}{len(space.mocks)}"
        place = position or (len(space.mocks) * APART_M, 0.0, 0.0)

        async def begin() -> tuple[Mock, Any]:
            mock = create_mock(kind, name, space.host.air, parameters, place)
            device = await self._device(mock, link, connect)
            title = f"{name}, mock {kind}, {device.path}"
            log = FrameLog(title, lambda: words_of_mock(kind, parameters))
            tap(device, log)
            self._bench.logs.append(log)
            if isinstance(device, VirtualPort):
                device = FaultyDevice(device, seed=seed, noise=noise, loss=byte_loss)
            space.host.add(mock, device)
            await _booted(mock, log)
            return mock, device

        mock, device = self._bench.thread.run(begin())
        return MockHandle(self._bench, space, mock, device)

    async def _device(self, mock: Mock, link: str | None, connect: str) -> DeviceSide:
        """The mock's end of what it is met by."""
        network = getattr(mock, "network", "serial")
        if connect and network != "tcp-client":
            raise UsageError("connect is for mocks that connect to a server", where=mock.name)
        if network == "tcp-server":
            server = TcpServerDevice("127.0.0.1", 0)
            await server.listen()
            return server
        if network == "tcp-client":
            try:
                address = parse_address(connect)
            except ValueError as error:
                raise UsageError(f"connect: {error}", where=mock.name) from None
            client = TcpClientDevice(getattr(mock, "retry_s", 1.0))
            client.aim(*address)
            return client
        return VirtualPort(
            self._bench.thread.timer,
            link,
            baud_rate=mock.baud_rate,
            bits_per_byte=mock.bits_per_byte,
        )


async def _booted(mock: Mock, log: FrameLog) -> None:
    """Until it has nothing more to do by itself, and what it said is off the line."""
    end = time.monotonic() + BOOT_S
    while mock.next_deadline() is not None and time.monotonic() < end:
        await asyncio.sleep(POLL_S)
    said = sum(len(entry.data) for entry in log.entries)
    await asyncio.sleep(min(said * mock.bits_per_byte / mock.baud_rate, BOOT_S) + POLL_S)


def new_host(bench: Bench, seed: int, loss: float) -> MockHost:
    """A host with a fresh air."""
    return MockHost(bench.thread.timer, new_air(seed, loss))
