"""A gateway as a service of systemd: what it reports to the service manager (sd_notify(3))."""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hilgw.transports.base import Scheduler

NS_PER_US = 1000
BEATS = 4  # in the time of the watchdog


class Service:
    """The messages to a service manager; where none asks for them, nothing is sent.

    A beat of the watchdog is a callback of the event loop, so there is none while that hangs.
    environment: programs that hilgw starts do not inherit the keys of the manager. clock: in real
    time.
    """

    def __init__(self, environment: MutableMapping[str, str], clock: "Scheduler") -> None:
        path = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        pid = environment.pop("WATCHDOG_PID", str(os.getpid()))
        time_us = environment.pop("WATCHDOG_USEC", "")
        is_ours = pid == str(os.getpid()) and time_us.isdecimal()
        self._period_ns = int(time_us) * NS_PER_US // BEATS if is_ours else 0
        self._clock = clock

    def ready(self) -> None:
        """State that the gateway runs, and commands reach it; ports may still be absent."""
        self._send("READY=1")
        if self._period_ns and self._address:
            self._beat()

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _beat(self) -> None:
        self._send("WATCHDOG=1")
        self._clock.call_at(self._clock.now() + self._period_ns, self._beat)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.setblocking(False)
            manager.sendto(message.encode(), self._address)
