"""Motion capture: a UDP port that receives datagrams of `hilgw.medium.mocap` and places objects.

A datagram comes from the network: a malformed one is refused and counted, and an unknown name is
ignored, as a capture volume may hold other objects, too.
"""

import asyncio
from typing import Any

from hilgw.engine.observer import Observer
from hilgw.engine.scene import Scene
from hilgw.errors import FrameError, HilgwError, PortError
from hilgw.medium import mocap

NAME = "mocap"
UNKNOWN_SHOWN = 64  # unknown names shown, each once


class Mocap(asyncio.DatagramProtocol):
    """The port of the motion capture.

    `start` it in a running event loop; port 0 is any free one.
    """

    def __init__(self, address: tuple[str, int], scene: Scene, observer: Observer) -> None:
        self.address = address
        self._scene = scene
        self._observer = observer
        self._transport: asyncio.BaseTransport | None = None
        self._shown: set[str] = set()
        self._datagrams = self._poses = self._malformed = self._unknown = 0

    async def start(self) -> None:
        """Start to listen. PortError when it cannot listen on the address."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.create_datagram_endpoint(
                lambda: self, local_addr=self.address
            )
        except OSError as error:
            raise PortError(
                f"cannot listen: {error.strerror or error}",
                reason=PortError.BUSY,
                where=f"{NAME} {self._address_text()}",
                fix="choose another port in medium.mocap.listen",
            ) from None
        self.address = self._transport.get_extra_info("sockname")[:2]
        self._observer.notice(NAME, f"listening on {self._address_text()}")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._datagrams += 1
        try:
            poses = mocap.decode(data)
        except FrameError as error:
            self._malformed += 1
            self._observer.refused(NAME, "malformed", error.what)
            return
        for name, pose in poses.items():
            try:
                ended = self._scene.place(name, pose)
            except HilgwError:
                self._unknown += 1
                self._show_unknown(name)
                continue
            self._poses += 1
            if ended:
                self._observer.notice(
                    NAME, f"motion capture sets the pose of {name} from now on; its motion ends"
                )

    def error_received(self, exc: Exception) -> None:
        """Ignore the answers to datagrams of ours, which do not exist."""

    def report(self) -> dict[str, Any]:
        """Return the counts, for `--report`."""
        return {
            "listen": self._address_text(),
            "datagrams": self._datagrams,
            "malformed": self._malformed,
            "poses": self._poses,
            "unknown": self._unknown,
        }

    def _address_text(self) -> str:
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _show_unknown(self, name: str) -> None:
        if name not in self._shown and len(self._shown) < UNKNOWN_SHOWN:
            self._shown.add(name)
            self._observer.notice(NAME, f"no object {name[:64]!r} here, ignored")
