"""The ledger of packets: echoes, duplicates, foreign packets, its equations, and its cost."""

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, strategies as st

from hilgw.medium import ledger as ledgers
from hilgw.medium.airs import AIR_TIME_NS, LIMIT, SKEW_NS, Airs, Origin, is_unique, normal
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import ExpiredReason, NotReceivedReason
from tests import work

A64, B64, FOREIGN64 = "0013A20040A1B2C3", "0013A20040A1B2C4", "0013A20041FFFFFF"


def is_echo(airs: Airs, air: str, station: str, address: str | None, data: bytes, now: int) -> bool:
    return airs.origin(air, station, address, data, now)[0] is Origin.ECHO


def pair(a: tuple[str, ...] = (), b: tuple[str, ...] = ()) -> Airs:
    """Modules a and b of ours in air x."""
    airs = Airs()
    airs.own("x", "a", a)
    airs.own("x", "b", b)
    return airs


def test_a_64_bit_address_of_ours_is_our_echo_whatever_it_contains_and_whenever() -> None:
    airs = pair((A64,), (B64,))
    assert is_echo(airs, "x", "b", A64, b"never sent", 0)
    assert is_echo(airs, "x", "b", "00:13:a2:00:40:a1:b2:c3", b"never sent", 0)
    assert airs.origin("elsewhere", "b", A64, b"never sent", 0) == (Origin.SIBLING, None)


def test_any_other_64_bit_address_is_a_stranger_even_with_our_words() -> None:
    airs = pair((A64,), (B64,))
    airs.sent("x", b"ping", 0, "a")
    assert not is_echo(airs, "x", "b", FOREIGN64, b"ping", 1)


def test_a_short_address_proves_nothing_so_content_decides() -> None:
    airs = pair((A64, "0000"), (B64, "0000"))
    assert not is_echo(airs, "x", "b", "0000", b"ping", 0)  # a stranger left at 0
    airs.sent("x", b"ping", 0, "a")
    assert is_echo(airs, "x", "b", "0000", b"ping", 1)
    assert not is_echo(airs, "x", "b", "0000", b"ping", 2)  # explained one reception
    assert not is_echo(airs, "x", "a", "0000", b"ping", 2)  # no module receives itself


def test_a_short_address_rules_out_a_sender_who_has_another() -> None:
    airs = pair((A64, "0001"), (B64, "0002"))
    airs.sent("x", b"ping", 0, "a")
    assert not is_echo(airs, "x", "b", "0005", b"ping", 1)
    assert is_echo(airs, "x", "b", "0001", b"ping", 1)


def test_a_sender_whose_short_address_is_not_known_may_have_any() -> None:
    airs = pair((A64,), (B64,))
    airs.sent("x", b"ping", 0, "a")
    assert is_echo(airs, "x", "b", "0005", b"ping", 1)


def test_without_addresses_content_decides_within_the_air_time() -> None:
    airs = pair()
    airs.sent("x", b"ping", 0, "a")
    assert not is_echo(airs, "x", "b", None, b"pong", 1)
    assert not is_echo(airs, "y", "b", None, b"ping", 1)
    assert is_echo(airs, "x", "b", None, b"ping", AIR_TIME_NS)
    airs.sent("x", b"ping", 0, "a")
    assert not is_echo(airs, "x", "b", None, b"ping", AIR_TIME_NS + 1)
    airs.sent("x", b"slow", 0, "a", air_time_ns=5 * AIR_TIME_NS)
    assert is_echo(airs, "x", "b", None, b"slow", 4 * AIR_TIME_NS)


def test_a_sender_that_was_not_named_works_too() -> None:
    airs = pair((A64, "0001"), (B64, "0002"))
    airs.sent("x", b"ping", 0)
    assert not is_echo(airs, "x", "b", "0005", b"ping", 1)
    assert is_echo(airs, "x", "b", "0001", b"ping", 1)


def test_a_module_alone_in_its_air_receives_neither_echo_nor_duplicate() -> None:
    airs = Airs()
    airs.own("x", "a", ())
    airs.sent("x", b"ping", 0, "a")
    assert not is_echo(airs, "x", "a", None, b"ping", 1)
    assert not is_echo(airs, "x", "stranger", None, b"ping", 1)
    for air, module in (("x", "a"), ("x", "a"), ("y", "b")):
        assert not airs.is_duplicate(air, module, None, b"hi", 0)


def test_an_address_that_changed_is_no_longer_ours() -> None:
    airs, changes = pair((A64,), (B64,)), []
    airs.on_own = lambda: changes.append(airs.addresses("x", "a"))
    airs.own("x", "a", (A64,))  # ready again
    assert is_echo(airs, "x", "b", A64, b"", 0)
    airs.own("x", "a", (FOREIGN64,))  # another module was plugged in
    assert airs.origin("x", "b", A64, b"", 0) == (Origin.FOREIGN, None)
    airs.own("x", "c", (FOREIGN64,))
    airs.own("x", "c", ())
    assert is_echo(airs, "x", "b", FOREIGN64, b"", 0)
    assert changes[:2] == [{A64}, {FOREIGN64}]


def test_a_transmission_in_the_same_air_comes_first() -> None:
    airs = pair()
    airs.own("y", "c", ())
    airs.sent("y", b"ping", 0, "c")
    airs.sent("x", b"ping", 5, "a", line_ns=2)
    assert is_echo(airs, "x", "b", None, b"ping", 10)
    assert airs.travelled_ns == 3
    assert airs.origin("x", "b", None, b"ping", 10) == (Origin.SIBLING, None)


def test_one_transmission_that_two_of_ours_received_is_one() -> None:
    airs = pair((A64,), (B64,))
    assert not airs.is_duplicate("x", "a", FOREIGN64, b"hi", 0)
    assert airs.is_duplicate("x", "b", FOREIGN64, b"hi", SKEW_NS)
    assert not airs.is_duplicate("x", "b", FOREIGN64, b"hi", SKEW_NS)  # sent twice
    assert airs.is_duplicate("x", "a", FOREIGN64, b"hi", SKEW_NS + 1)
    assert not airs.is_duplicate("x", "a", FOREIGN64, b"other", 0)
    assert not airs.is_duplicate("x", "b", "0005", b"other", 0)  # somebody else


def test_what_comes_later_is_another_transmission() -> None:
    airs = pair()
    assert not airs.is_duplicate("x", "a", None, b"hi", 0)
    assert not airs.is_duplicate("x", "b", None, b"hi", SKEW_NS + 1)


@given(st.lists(st.sampled_from([b"1", b"2"]), min_size=1, max_size=30), st.data())
def test_every_transmission_enters_once_if_a_module_received_it(
    transmissions: list[bytes], data: st.DataObject
) -> None:
    """Both modules receive everything, each in order, the reports interleaved in any way."""
    airs = pair()
    reports: dict[str, list[bytes]] = {"a": [], "b": []}
    for payload in transmissions:
        for received in reports.values():
            received.append(payload)
    entered: list[bytes] = []
    while reports["a"] or reports["b"]:
        module = data.draw(st.sampled_from([name for name, left in reports.items() if left]))
        payload = reports[module].pop(0)
        if not airs.is_duplicate("x", module, None, payload, 0):
            entered.append(payload)
    assert sorted(entered) == sorted(transmissions)


def test_memory_is_bounded_and_the_oldest_is_forgotten() -> None:
    airs = pair()
    for index in range(LIMIT + 1):
        airs.sent("x", index.to_bytes(4, "big"), 0, "a")
    assert not is_echo(airs, "x", "b", None, (0).to_bytes(4, "big"), 1)
    assert is_echo(airs, "x", "b", None, (1).to_bytes(4, "big"), 1)


def test_which_addresses_are_unique() -> None:
    assert normal("00-13-a2:00") == "0013A200"
    for unique in (A64, "AABBCCDDEEFF"):
        assert is_unique(unique)
    for common in ("", "0000", "FFFE", "E7E7E7E7E7", "0" * 16, "F" * 16, "node-with-name", "rover"):
        assert not is_unique(normal(common))


@given(st.text(), st.text())
def test_any_text_may_be_an_address(own: str, received: str) -> None:
    airs = pair((own,))
    airs.sent("x", b"", 0, "a")
    is_echo(airs, "x", "b", received, b"", 0)
    airs.is_duplicate("x", "b", received, b"", 0)


def test_what_hardware_receives_enters_or_has_a_reason() -> None:
    ledger = Ledger()
    station = ledger.station("xbee0")
    station.receive()
    ledger.enter("xbee0", [], NotReceivedReason.NO_LISTENER)
    station.echo()
    station.drop("bad_frame")
    assert ledger.violations() == []
    report = ledger.as_dict()["stations"]["xbee0"]
    assert (report["accepted"], report["refused"]) == (1, {"own_echo": 1})
    assert (report["inbound"], report["dropped"]) == (3, {"bad_frame": 1})
    station.receive()
    assert len(ledger.violations()) == 1


BREAKING: dict[str, Callable[[Ledger], object]] = {
    "offered": lambda ledger: setattr(ledger.emitter("a.tx"), "offered", 7),
    "departed": lambda ledger: ledger.emitter("a.tx").depart(),
    "expired": lambda ledger: ledger.emitter("a.tx").expire(1, ExpiredReason.STOPPED),
    "emitter a.tx: accepted": lambda ledger: ledger.emitter("a.tx", lambda: 5),
    "entered the medium": lambda ledger: ledger.enter("a.tx", [], NotReceivedReason.NO_LISTENER),
    "received": lambda ledger: setattr(ledger.source("a.tx"), "packets", 9),
    "copies": lambda ledger: ledger.station("b.rx").accept(),
    "delivered": lambda ledger: ledger.station("b.rx").deliver(),
    "refused": lambda ledger: ledger.station("b.rx").refuse("overflow"),
    "station b.rx: accepted": lambda ledger: ledger.station("b.rx", lambda: 1),
    "inbound": lambda ledger: ledger.station("xbee0").receive(),
}


@pytest.mark.parametrize("equation", BREAKING)
def test_each_equation_is_a_check(equation: str) -> None:
    ledger = Ledger()
    emitter = ledger.emitter("a.tx", lambda: 0)
    emitter.offer(None)
    emitter.depart()
    ledger.enter("a.tx", ["b.rx"], None)
    station = ledger.station("b.rx", lambda: 0)
    station.accept()
    station.arrive()
    station.deliver()
    assert ledger.violations() == []
    BREAKING[equation](ledger)
    assert any(equation in line for line in ledger.violations())


def test_copies_are_counted_by_source_and_listener_and_too_many_pairs_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledgers, "MOST_PAIRS", 2)
    ledger = Ledger()
    ledger.enter("d.tx", [], NotReceivedReason.CHANNEL)
    ledger.enter("a.tx", ["b.rx"], None)
    ledger.enter("a.tx", ["b.rx", "c.rx"], None)
    assert ledger.as_dict()["received_by"] == {"a.tx": {"b.rx": 2, "c.rx": 1}}
    ledger.enter("a.tx", ["b.rx", "c.rx", "d.rx"], None)
    counts = ledger.as_dict()["received_by"]
    assert counts == {"a.tx": {"b.rx": 3, "c.rx": 2}, "others": {"others": 1}}
    assert ledger.source("a.tx").copies == 6


NEARBY = 10
FEW, MANY = 10, 10_000
SLACK_BYTES = 16 * 1024  # a copy of MANY takes 80 kB; threads of other tests may allocate some


class World:
    """Ten stations on channel 1, and others, each of its own robot, on channels 2 to 51."""

    def __init__(self, type: str, elsewhere: int) -> None:
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self._type = type
        for index in range(NEARBY):
            self._attach(f"near{index}", 1, float(index))
        for index in range(elsewhere):
            self._attach(f"far{index}", 2 + index % 50, float(index))

    def _attach(self, name: str, channel: int, x: float) -> None:
        count = self.ledger.station(name)
        self.medium.attach(
            Listener(
                name=name,
                type=self._type,
                owner=name,
                channels=frozenset([channel]),
                pose=Pose((x, 0.0, 0.0)),
                deliver=lambda copy: count.deliver(),
            )
        )

    def transmit(self, channel: int, range: float = 100.0) -> None:
        packet = Packet(b"x", channel, self._type, "near0.tx", "near0", range=range)
        self.medium.transmit(packet, Pose())


@cache
def worlds(type: str) -> tuple[World, World]:
    """Made once; packets do not change them."""
    return World(type, FEW), World(type, MANY)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("type", "channel", "range", "copies"),
    [
        ("infra-red", 1, 100.0, NEARBY - 1),
        ("radio", 1, -1.0, NEARBY - 1),
        ("radio", 1, 0.0, 0),
        ("radio", 99, 100.0, 0),
    ],
    ids=["received", "without limit", "out of range", "no listener"],
)
def test_stations_on_other_channels_cost_a_packet_nothing(
    type: str, channel: int, range: float, copies: int
) -> None:
    counted = []
    for world in worlds(type):
        before = world.ledger.source("near0.tx").copies
        world.transmit(channel, range)  # builds what is built once
        taken = work.instructions(lambda world=world: world.transmit(channel, range))  # type: ignore[misc]
        held = work.allocated(lambda world=world: world.transmit(channel, range))  # type: ignore[misc]
        counted.append((taken, held))
        assert world.ledger.source("near0.tx").copies - before == 3 * copies
    (few_taken, few_held), (many_taken, many_held) = counted
    assert few_taken > 0
    assert many_taken == few_taken
    assert many_held <= few_held + SLACK_BYTES
