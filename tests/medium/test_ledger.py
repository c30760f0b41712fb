"""The ledger: any equation that does not hold is found and named."""

from collections.abc import Callable

import pytest

from hilgw.medium import ledger as ledgers
from hilgw.medium.ledger import Ledger
from hilgw.reasons import ExpiredReason, NotReceivedReason


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


@pytest.mark.parametrize("what", BREAKING)
def test_each_equation_is_a_check(what: str) -> None:
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
    BREAKING[what](ledger)
    assert any(what in line for line in ledger.violations())


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
    found = ledger.as_dict()["received_by"]
    assert found == {"a.tx": {"b.rx": 3, "c.rx": 2}, "others": {"others": 1}}
    assert ledger.source("a.tx").copies == 6
