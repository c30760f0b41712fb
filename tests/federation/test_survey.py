"""A survey of a network: whatever session of Zenoh is there, a gateway or not."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import zenoh

from hilgw.config.model import FederationConfig
from hilgw.federation import wire
from hilgw.federation.survey import survey
from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import HOST, free_port

pytestmark = pytest.mark.wall_clock("Zenoh")
CONFIG = FederationConfig(name="scan")
ID, OTHER = 0xAB, 0xCD


class Network:
    """A session that others connect to, with what a gateway declares."""

    def __init__(self) -> None:
        self.endpoint = f"tcp/{HOST}:{free_port()}"
        config = zenoh.Config()
        for key, value in {
            "mode": "peer",
            "listen/endpoints": [self.endpoint],
            "scouting/multicast/enabled": False,
        }.items():
            config.insert_json5(key, json.dumps(value))
        self.session = zenoh.open(config)
        self.kept: list[Any] = []

    def member(self, name: str, id: int = ID, version: int = wire.VERSION) -> None:
        key = f"hilgw/lab/member/{name}/{wire.id_text(id)}/{version}"
        self.kept.append(self.session.liveliness().declare_token(key))

    def answer(self, kind: str, name: str, data: bytes) -> None:
        key = f"hilgw/lab/{kind}/{name}"
        reply = self.session.declare_queryable(key, lambda query: query.reply(key, data))
        self.kept.append(reply)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    """On a machine that stands still for a second, an answer takes longer."""
    for name, patience in (("CONNECT_MS", 20_000), ("GET_S", 20.0), ("ALL_S", 60.0)):
        monkeypatch.setattr(f"hilgw.federation.survey.{name}", patience)
    made = Network()
    yield made
    made.session.close()  # type: ignore[no-untyped-call]


def found(network: Network, name: str = "*") -> list[dict[str, Any]]:
    gateways, problems = survey(CONFIG, [network.endpoint], name)
    assert not problems
    return sorted(gateways, key=lambda each: (each["name"], each["id"]))


def test_gateways_with_what_they_have_and_both_of_one_name(network: Network) -> None:
    listeners = {"xbee0": wire.ListenerState("radio", [5], "air")}
    state = wire.GatewayState(
        wire.id_text(ID), "1.2", listeners=listeners, robots={"rover": ["tx"]}
    )
    network.member("bench")
    network.member("bench", OTHER)  # the state below is not of it
    network.answer("state", "bench", wire.encode_json(state))
    link = wire.LinkAnswer(wire.id_text(ID), 10**9, 10**9)
    network.answer("link", "bench", wire.encode_json(link))
    first, second = found(network)
    trip_ms = first.pop("round_trip_ms")
    assert first == {
        "network": "lab",
        "name": "bench",
        "id": wire.id_text(ID),
        "version": wire.VERSION,
        "hilgw": "1.2",
        "robots": {"rover": ["tx"]},
        "listeners": {"xbee0": {"type": "radio", "channels": [5], "air": "air"}},
    }
    assert trip_ms > 0
    assert (second["id"], second["hilgw"]) == (wire.id_text(OTHER), "")
    assert second["round_trip_ms"] is None
    assert json.loads(json.dumps([first, second])) == [first, second]


def test_a_gateway_of_another_version_is_shown_whatever_it_answers(network: Network) -> None:
    network.member("new", version=7)
    network.answer("state", "new", b'{"id": 7, "more": \xff')
    network.answer("link", "new", b"[1]")
    (new,) = found(network, "lab")
    assert (new["version"], new["robots"], new["round_trip_ms"]) == (7, {}, None)


def test_other_tokens_are_not_shown(network: Network) -> None:
    for key in ("hilgw/lab/member/a b/00/1", f"hilgw/lab/member/x/{wire.id_text(ID)}/one"):
        network.kept.append(network.session.liveliness().declare_token(key))
    gateways, problems = survey(CONFIG, [network.endpoint], "lab")
    assert (gateways, problems) == ([], {network.endpoint: "no gateway is there"})


def test_the_others_are_shown_where_an_endpoint_fails(network: Network) -> None:
    network.member("bench")
    gateways, problems = survey(CONFIG, ["nonsense", network.endpoint], "lab")
    assert [each["name"] for each in gateways] == ["bench"]
    assert list(problems) == ["nonsense"]


def test_what_blocks_in_zenoh_ends_the_survey_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr("hilgw.federation.survey.ALL_S", 0.01)

    def block(config: zenoh.Config) -> None:
        ended.wait(DEADLINE_S)
        raise zenoh.ZError("it has ended")

    monkeypatch.setattr(zenoh, "open", block)
    gateways, problems = survey(CONFIG, ["tcp/127.0.0.1:1"], "lab")
    ended.set()
    assert gateways == []
    assert problems == {"tcp/127.0.0.1:1": "it accepts connections, and does not answer"}
