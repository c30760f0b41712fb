"""What the fixtures of one test share: a loop in a thread, and all that was made in it."""

from __future__ import annotations

import time
from collections.abc import Callable

from hilgw.testing.frames import FrameLog
from hilgw.testing.gateways import Gateways
from hilgw.testing.loop_thread import LoopThread
from hilgw.testing.mocks import AirOfTest, FirmwareMocks, new_host
from hilgw.testing.ports import VirtualPorts


class Bench:
    """Made for a test, closed behind it. logs: one for each port."""

    def __init__(self) -> None:
        self.began_ns = time.monotonic_ns()
        self.logs: list[FrameLog] = []
        self.thread = LoopThread()
        self._closers: list[Callable[[], None]] = []
        self._airs: dict[int, AirOfTest] = {}
        self.virtual_ports = VirtualPorts(self)
        self.firmware_mocks = FirmwareMocks(self)
        self.gateways = Gateways(self)

    @property
    def air(self) -> AirOfTest:
        """The one that mocks share by default."""
        return self.air_of_seed(0)

    def air_of_seed(self, seed: int) -> AirOfTest:
        """The one that mocks of this seed share."""
        if seed not in self._airs:
            self._airs[seed] = self.new_air(seed, 0.0)
        return self._airs[seed]

    def new_air(self, seed: int, loss: float) -> AirOfTest:
        """Another one, empty."""
        host = self.thread.call(new_host, self, seed, loss)
        self.at_close(host.close)
        return AirOfTest(self, host)

    def at_close(self, close: Callable[[], None]) -> None:
        """To be called in the loop when the test is over."""
        self._closers.append(close)

    def transcript(self) -> list[tuple[str, str]]:
        """Titles and texts for the report of a failure."""
        for running in self.gateways.running:
            self.thread.call(running.flush)
        found = [
            (f"hilgw: last frames of {log.name}", log.text(self.began_ns)) for log in self.logs
        ]
        for running in self.gateways.running:
            found.append((f"hilgw: what {running.name} said last", running.transcript()))
        return found

    def close(self) -> None:
        """Stops gateways, then mocks and ports, then the loop. Raises what failed in there."""
        try:
            for running in self.gateways.running:
                running.stop()
            for close in reversed(self._closers):
                self.thread.call(close)
        finally:
            self.thread.close()
