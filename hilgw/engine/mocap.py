"""Motion capture: a UDP port that takes datagrams of `hilgw.medium.mocap` and places bodies.

Nothing a datagram holds does more than count: what is none is refused whole, and a name that is
no body here is passed over, for a capture volume has more in it than ours.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.errors import FrameError, HilgwError, PortError
from hilgw.medium import mocap

if TYPE_CHECKING:
    from hilgw.engine.observer import Observer
    from hilgw.engine.scene import Scene

NAME = "mocap"
SAID_LIMIT = 64  # unknown names said, each once


class Mocap(asyncio.DatagramProtocol):
    """One port. `start` it in a running loop; port 0 is any free one."""

    def __init__(self, address: tuple[str, int], scene: Scene, observer: Observer) -> None:
        self.address = address
        self._scene = scene
        self._observer = observer
        self._transport: asyncio.BaseTransport | None = None
        self._said: set[str] = set()
        self._datagrams = self._poses = self._malformed = self._unknown = 0

    async def start(self) -> None:
        """Listens. Raises PortError when the address cannot be had."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.create_datagram_endpoint(
                lambda: self, local_addr=self.address
            )
        except OSError as error:
            raise PortError(
                f"cannot listen: {error.strerror or error}",
                reason=PortError.BUSY,
                where=f"{NAME} {self._spelled()}",
                fix="choose another port in medium.mocap.listen",
            ) from None
        self.address = self._transport.get_extra_info("sockname")[:2]
        self._observer.notice(NAME, f"listening on {self._spelled()}")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._datagrams += 1
        try:
            bodies = mocap.decode(data)
        except FrameError as error:
            self._malformed += 1
            self._observer.refused(NAME, "malformed", error.what)
            return
        for name, pose in bodies.items():
            try:
                ended = self._scene.place(name, pose)
            except HilgwError as error:
                self._unknown += 1
                self._say(name, error)
                continue
            self._poses += 1
            if ended:
                self._observer.notice(NAME, f"{name} is placed from here on, its motion ends")

    def error_received(self, exc: Exception) -> None:
        """Nothing to do: an answer to a datagram of ours, and we send none."""

    def report(self) -> dict[str, Any]:
        """For the report: all counts."""
        return {
            "listen": self._spelled(),
            "datagrams": self._datagrams,
            "malformed": self._malformed,
            "poses": self._poses,
            "unknown": self._unknown,
        }

    def _spelled(self) -> str:
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _say(self, name: str, error: HilgwError) -> None:
        if name not in self._said and len(self._said) < SAID_LIMIT:
            self._said.add(name)
            self._observer.notice(NAME, f"no body {name[:64]!r} here, passed over")
