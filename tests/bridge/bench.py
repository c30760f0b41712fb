"""The clients of a bridge and its port on a fake clock, and the ledger of a bridge."""

from typing import Any

from hilgw.bridge.clients import Clients
from hilgw.bridge.port import BridgePort
from hilgw.protocols.rfc2217 import COM_PORT, IAC, SB, SE
from hilgw.testing.sim import Clock, FakeTransport
from hilgw.transports.base import LineSettings

DIRECTIONS = ("to_serial", "to_tcp")


def command(*octets: int) -> bytes:
    """A command of RFC 2217."""
    return bytes((IAC, SB, COM_PORT, *octets, IAC, SE))


def violations(report: dict[str, Any]) -> list[str]:
    """The equations that do not hold, and the counts that are negative."""
    ledgers = {name: report[name] for name in DIRECTIONS}
    for client in report["clients"]["each"]:
        ledgers |= {f"{client['peer']} {name}": client[name] for name in DIRECTIONS}
    return [f"{name}: {ledger}" for name, ledger in ledgers.items() if not _holds(ledger)]


def _holds(ledger: dict[str, Any]) -> bool:
    known = [ledger["sent_bytes"], ledger["queued_bytes"], *ledger["dropped"].values()]
    return ledger["accepted_bytes"] == sum(known) and min(known) >= 0


class BridgeBench:
    """The clients of a bridge and its port, on a clock of the test."""

    def __init__(
        self, rule: Any = "first", *, pace: bool = False, stalled: bool = False, **more: Any
    ) -> None:
        self.scheduler = Clock()
        self.reported: list[str] = []
        self.warned: list[str] = []
        line = LineSettings(115200)
        self.port = BridgePort("port", line)
        if pace:
            self.port.pace(self.scheduler, line)
        self.clients = Clients(
            self.scheduler,
            self.port,
            rule=rule,
            new_reframer=None,
            inform=self.reported.append,
            warn=self.warned.append,
            **more,
        )
        self.to_port, self.from_port = self.port.flow, self.clients.from_port
        self.device = FakeTransport()
        self.device.stalled = stalled
        self.port.attach(self.device)
        self._number = 1000

    def client(self, host: str = "127.0.0.1") -> FakeTransport:
        stream = FakeTransport()
        self._number += 1
        self.clients.add(stream, f"{host}:{self._number}")
        return stream

    def wait(self, ns: int) -> None:
        self.scheduler.run(ns)

    @property
    def adds_up(self) -> bool:
        ledgers = {"to_serial": self.port.report(), "to_tcp": self.clients.report()}
        return not violations({**ledgers, "clients": {"each": self.clients.reports()}})
