"""Source addresses in any spelling, and modules of one gateway that receive each other."""

from functools import partial
from typing import Any

import pytest

from hilgw.adapters.base import Received, StationSettings
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.station.receive_filter import ReceiveFilter
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount


@pytest.mark.parametrize(
    "written", ["0013A20040A1B2C3", "00:13:a2:00:40:a1:b2:c3", "0013a200-40a1b2c3"]
)
@pytest.mark.parametrize(
    "address", ["0013A20040A1B2C3", "0013a20040a1b2c3", None, "0013A20040A1B2C4"]
)
def test_sources_are_looked_up_in_one_spelling(written: str, address: str | None) -> None:
    packets: list[Packet] = []
    receive_filter = ReceiveFilter(
        "radio",
        "lab",
        Airs(),
        StationSettings(port="fake", sources={written: "rover"}),
        StationStatistics("xb", Ledger().station("xb"), Observer()),
        Mount("xb"),
        lambda packet, mount: packets.append(packet),
    )
    receive_filter.receive(Received(b"x", 5, address=address), 1)
    known = address is not None and address.upper().endswith("C3")
    assert [packet.owner for packet in packets] == ["rover" if known else None]


A64, B64 = "0013A20040A1B2C3", "0013A20040A1B2C4"


class Gateway:
    """Modules a and b with relay, which all receive each other, and the Receiver of a robot.

    addresses: of the modules, or none. sent: (module, bytes) in order.
    """

    def __init__(self, airs: tuple[str, str], addressed: bool, **common: Any) -> None:
        self.medium = Medium(Ledger())
        self.airs = Airs()
        self.now = 0
        self.sent: list[tuple[str, bytes]] = []
        self.receptions: list[bytes] = []
        self.filters: dict[str, ReceiveFilter] = {}
        self.addresses: dict[str, str | None] = {"a": None, "b": None}
        for name, air, address in zip("ab", airs, (A64, B64), strict=True):
            self.airs.own(air, name, (address,) if addressed else ())
            self.addresses[name] = address if addressed else None
            self.filters[name] = ReceiveFilter(
                "radio",
                air,
                self.airs,
                StationSettings(port="fake", relay=True, **common),
                StationStatistics(name, self.medium.ledger.station(name), Observer()),
                Mount(name),
                lambda packet, mount: self.medium.transmit(packet),
            )
            self.medium.attach(
                Listener(
                    name=name,
                    type="radio",
                    deliver=partial(self.send, name, air),
                    air=air,
                    relay=True,
                )
            )
        self.medium.attach(
            Listener(name="rover.rx", type="radio", deliver=self.take, owner="rover")
        )

    def take(self, copy: Copy) -> None:
        self.receptions.append(copy.packet.data)

    def send(self, name: str, air: str, copy: Copy) -> None:
        """The module sends; all others of the room receive it a moment later."""
        self.sent.append((name, copy.packet.data))
        assert len(self.sent) < 100, "a storm"
        self.airs.sent(air, copy.packet.data, self.now, name, owner=copy.packet.owner)
        self.now += 1
        self.receive(copy.packet.data, self.addresses[name], *(set("ab") - {name}))

    def receive(self, data: bytes, address: str | None, *modules: str) -> None:
        for module in modules:
            self.filters[module].receive(Received(data, 5, address=address), self.now)

    def robot_sends(self, data: bytes) -> None:
        self.medium.transmit(Packet(data, 5, "radio", "other.tx", owner="other", sent_ns=self.now))


@pytest.mark.parametrize("addressed", [True, False])
@pytest.mark.parametrize(
    ("airs", "common", "senders"),
    [
        (("x", "x"), {}, ["a"]),
        (("x", "y"), {}, ["a", "b"]),
        (("x", "x"), {"own_echo": "keep"}, ["a"]),
        (("x", "y"), {"own_echo": "keep"}, ["a", "b"]),
    ],
)
def test_modules_that_answer_each_other_raise_no_storm(
    airs: tuple[str, str], common: dict[str, Any], senders: list[str], addressed: bool
) -> None:
    """Each transmission is one more packet for the Receiver where modules receive each other, and
    leaves into no air again."""
    gateway = Gateway(airs, addressed, **common)
    gateway.robot_sends(b"ping")
    assert gateway.sent == [(name, b"ping") for name in senders]
    echoes = len(senders) if common or len({*airs}) == 2 else 0
    assert gateway.receptions == [b"ping"] * (1 + echoes)


@pytest.mark.parametrize(
    ("airs", "addressed"), [(("x", "x"), True), (("x", "x"), False), (("x", "y"), True)]
)
def test_no_robot_gets_its_own_packet_by_another(airs: tuple[str, str], addressed: bool) -> None:
    """Webots: an Emitter never sends to Receivers of its own robot."""
    gateway = Gateway(airs, addressed, own_echo="keep")
    for owner in ("rover", "other", "rover"):  # in this order out, in this order in
        gateway.medium.transmit(
            Packet(b"ping", 5, "radio", f"{owner}.tx", owner=owner, range=0.0, sent_ns=gateway.now)
        )
    from_simulation = 1  # of the other robot
    through_modules = len({*airs})
    assert gateway.receptions == [b"ping"] * (from_simulation + through_modules)


@pytest.mark.parametrize("addressed", [True, False])
def test_a_foreign_packet_in_overlapping_airs_is_relayed_without_a_storm(addressed: bool) -> None:
    gateway = Gateway(("x", "y"), addressed)
    gateway.receive(b"hi", "0013A20041FFFFFF" if addressed else None, "a", "b")
    assert 1 <= len(gateway.sent) <= 2  # once into each air at most
