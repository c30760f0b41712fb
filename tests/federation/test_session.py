"""What leaves from a thread or the event loop to a network, and a survey of whom it has."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
import zenoh

from hilgw.config.model import FederationConfig
from hilgw.federation import inbox, session, wire
from hilgw.federation.session import (
    APART_S,
    LONGEST_KEY,
    MOST_AHEAD,
    MOST_LEAVING,
    MOST_ROUTES,
    MOST_WAITING_S,
    YIELD_S,
    ZenohSession,
)
from hilgw.federation.survey import NO_ANSWER, survey
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.running import HOST, free_port
from tests.transports.rig import turns


class Zenoh:
    """Keeps what is put: with the key, and whether nothing waited behind it, so that it left at
    once. open: cleared, it blocks who may be blocked. senders: the threads. blocked: puts that are,
    or were."""

    def __init__(self) -> None:
        self.senders: list[threading.Thread] = []
        self.blocked = 0
        self.declared: list[str] = []
        self.take: Callable[[Any], None] | None = None
        self.info = self
        self._see: Callable[[Any], None] = print
        self.puts: list[tuple[str, bool, bytes]] = []
        self.open = threading.Event()
        self.open.set()

    def declare_keyexpr(self, key: str) -> str:
        self.declared.append(key)
        return key

    def declare_subscriber(self, key: str, handler: Any, **_: Any) -> None:
        self.take = handler.callback

    def declare_publisher(
        self,
        key: str,
        *,
        congestion_control: zenoh.CongestionControl,
        express: bool = False,
        **_: Any,
    ) -> Any:
        assert threading.current_thread() is not threading.main_thread()  # it may block
        blocks, zenoh_ = congestion_control == zenoh.CongestionControl.BLOCK, self

        class Publisher:
            def put(self, payload: bytes, attachment: bytes | None) -> None:
                if blocks and not zenoh_.open.is_set():
                    zenoh_.blocked += 1
                    zenoh_.open.wait()
                zenoh_.senders.append(threading.current_thread())
                zenoh_.puts.append((key, express, payload))

        return Publisher()

    def declare_transport_events_listener(self, handler: Any, *, history: bool) -> None:
        assert history
        self._see = handler.callback

    def see(self, zid: str, kind: zenoh.WhatAmI, *, is_there: bool) -> None:
        """Another session connects, or goes."""
        change = zenoh.SampleKind.PUT if is_there else zenoh.SampleKind.DELETE
        self._see(SimpleNamespace(kind=change, transport=SimpleNamespace(zid=zid, whatami=kind)))

    def close(self) -> None:
        """Nothing is open."""


class SessionOnFakeZenoh:
    """now: the time. wakes: how often the thread got something to do; yields: and
    the event loop gave way to it."""

    def __init__(self, patches: pytest.MonkeyPatch, settings: Mapping[str, Any]) -> None:
        self.zenoh, self.now, self.wakes, self.yields = Zenoh(), 0.0, 0, 0
        bench = self

        class Counted(SimpleQueue[Any]):
            def put(self, *given: Any) -> None:
                bench.wakes += 1
                super().put(*given)

        patches.setattr(session, "SimpleQueue", Counted)
        config = zenoh.Config()
        for key, value in settings.items():
            config.insert_json5(key, json.dumps(value))
        self.session = ZenohSession(config)

    async def open(self, patches: pytest.MonkeyPatch) -> None:
        patches.setattr(zenoh, "open", lambda config: self.zenoh)
        await self.session.open()
        patches.setattr(session, "monotonic", lambda: self.now)
        wait = threading.Event.wait

        def counted(event: threading.Event, timeout: float | None = None) -> bool:
            self.yields += timeout == YIELD_S
            return wait(event, timeout)

        patches.setattr(threading.Event, "wait", counted)

    def put(self, number: int, *, is_light: bool = False) -> None:
        self.session.put("key", str(number).encode(), is_light=is_light)

    def from_loop(self) -> list[int]:
        """The numbers of what left from the event loop."""
        own = threading.main_thread()
        return [n for n, by in zip(self.sent(), self.zenoh.senders, strict=True) if by is own]

    def sent(self) -> list[int]:
        return [int(payload) for _, _, payload in self.zenoh.puts]


@asynccontextmanager
async def running(settings: Mapping[str, Any] = {}) -> AsyncIterator[SessionOnFakeZenoh]:
    with pytest.MonkeyPatch.context() as patches:
        made = SessionOnFakeZenoh(patches, settings)
        await made.open(patches)
        yield made
        made.zenoh.open.set()
    await made.session.close(10)


async def calm(bench: SessionOnFakeZenoh) -> int:
    """Sends light packets, far apart, until one leaves from the event loop: the thread has nothing
    to do. Returns how many there are now. The first one of all finds nothing declared, and to
    declare it may block."""
    before, count = bench.from_loop(), len(bench.zenoh.puts)
    while bench.from_loop() == before:
        bench.now += 1
        bench.put(count, is_light=True)
        count += 1
        wait_until(lambda sent=count: len(bench.zenoh.puts) == sent)  # type: ignore[misc]
    bench.now += 1
    return count


@pytest.mark.wall_clock("a thread sends")
@pytest.mark.parametrize("bar", [{"mode": "router"}, {"transport/unicast/lowlatency": True}])
async def test_the_event_loop_sends_nothing_where_zenoh_may_block_it(bar: dict[str, Any]) -> None:
    """A router waits where what it sends for others blocks; with low latency a put is a write."""
    async with running(bar) as bench:
        for number in range(5):
            bench.now += 1
            bench.put(number, is_light=True)
            wait_until(lambda made=number: len(bench.zenoh.puts) == made + 1)  # type: ignore[misc]
        assert not bench.from_loop()


@pytest.mark.wall_clock("a thread sends")
async def test_the_event_loop_of_a_peer_sends_nothing_while_it_has_clients() -> None:
    """It sends for them, as a router does."""
    async with running() as bench:
        bench.zenoh.see("other", zenoh.WhatAmI.PEER, is_there=True)
        count = await calm(bench)
        bench.zenoh.see("bench", zenoh.WhatAmI.CLIENT, is_there=True)
        bench.zenoh.see("other", zenoh.WhatAmI.PEER, is_there=False)
        bench.put(count, is_light=True)
        wait_until(lambda: len(bench.zenoh.puts) == count + 1)
        assert count not in bench.from_loop()
        bench.zenoh.see("bench", zenoh.WhatAmI.CLIENT, is_there=False)
        await calm(bench)


@pytest.mark.wall_clock("a thread sends")
async def test_zenoh_keeps_the_routes_of_a_bounded_number_of_keys() -> None:
    """Of what leaves and arrives: else it looks for the subscribers of each sample anew."""
    async with running() as bench:
        bench.session.subscribe("hilgw/*", lambda *sample: None)
        wait_until(lambda: bench.zenoh.take is not None)
        take, payload = bench.zenoh.take, SimpleNamespace(to_bytes=lambda: b"x")
        assert take is not None
        far = [f"hilgw/{'x' * LONGEST_KEY}{number}" for number in range(3)]
        for key in [*far, *(f"hilgw/{number}" for number in range(2 * MOST_ROUTES))] * 2:
            take(SimpleNamespace(payload=payload, attachment=None, key_expr=key))
        wakes = bench.wakes
        take(SimpleNamespace(payload=payload, attachment=None, key_expr="hilgw/new"))
        assert bench.wakes == wakes
        bench.put(0)
        wait_until(lambda: bench.sent() == [0])
        assert bench.zenoh.declared == [f"hilgw/{number}" for number in range(MOST_ROUTES)]
    async with running() as bench:
        bench.put(0)
        wait_until(lambda: bench.sent() == [0])
        assert bench.zenoh.declared == ["key"]


@pytest.mark.wall_clock("a thread sends")
async def test_packets_of_many_turns_leave_in_few_batches_and_keep_their_order() -> None:
    """Else each one costs two switches between threads, and that is more than to send it."""
    async with running() as bench:
        for number in range(5 * MOST_AHEAD):
            bench.put(number)
            if number % 10 == 9:
                await turns(1)
        await turns(3)  # the burst is over
        assert bench.wakes <= 8
        wait_until(lambda: len(bench.zenoh.puts) == 5 * MOST_AHEAD)
        assert bench.sent() == list(range(5 * MOST_AHEAD))


@pytest.mark.wall_clock("a thread sends")
async def test_a_burst_that_goes_on_leaves_after_a_short_wait() -> None:
    async with running() as bench:
        for number in range(20):
            bench.put(number)
            bench.now += MOST_WAITING_S / 4
            await turns(1)
        wait_until(lambda: len(bench.sent()) >= 15)
        assert 4 <= bench.wakes <= 8
        await turns(3)
        wait_until(lambda: bench.sent() == list(range(20)))


@pytest.mark.wall_clock("a thread sends")
async def test_of_packets_close_to_each_other_the_event_loop_sends_the_first() -> None:
    """The thread sends many at less cost, and all that is not light."""
    async with running() as bench:
        count = await calm(bench)
        bench.put(count, is_light=True)
        bench.now += APART_S / 2
        bench.put(count + 1, is_light=True)
        await turns(3)
        wait_until(lambda: len(bench.sent()) == count + 2)
        bench.now += 1
        bench.put(count + 2)
        bench.put(count + 3)  # soon after that one: others may follow
        wait_until(lambda: len(bench.sent()) == count + 4)
        bench.now += 1
        bench.put(count + 4, is_light=True)
        await turns(3)
        wait_until(lambda: bench.sent() == list(range(count + 5)))
        assert [number for number in bench.from_loop() if number >= count] == [count]


@pytest.mark.wall_clock("a thread sends")
async def test_what_blocks_the_thread_does_not_block_the_event_loop() -> None:
    """It gives way a few times until the queue is full."""
    async with running() as bench:
        bench.zenoh.open.clear()
        number = 0
        while not bench.session.is_full:
            bench.put(number)
            number += 1
        assert MOST_LEAVING <= number <= MOST_LEAVING + 1
        assert 1 <= bench.yields <= 7
        bench.zenoh.open.set()
        await turns(3)
        wait_until(lambda: len(bench.zenoh.puts) == number)
        assert bench.sent() == list(range(number))
        before = bench.yields  # and later it gives way as often as ever
        for further in range(3 * MOST_AHEAD):
            bench.put(number + further)
        assert bench.yields > before


@pytest.mark.wall_clock("a thread sends")
async def test_a_queue_of_long_packets_is_full_before_it_takes_the_memory() -> None:
    """What is only offered has no room then."""
    async with running() as bench:
        bench.zenoh.open.clear()
        bench.put(0)
        wait_until(lambda: bench.zenoh.blocked == 1)
        for _ in range(8):
            assert not bench.session.is_full
            bench.session.put("key", bytes(1 << 20))
        assert bench.session.is_full
        bench.session.offer("key", b"x", b"")  # this Zenoh would refuse it
        bench.put(9)
        bench.zenoh.open.set()
        await turns(3)
        wait_until(lambda: len(bench.zenoh.puts) == 10)
        assert bench.session.failed_puts == 0 and not bench.session.failure


@pytest.mark.wall_clock("a thread sends")
async def test_a_light_packet_passes_none_that_the_thread_has_begun_to_send() -> None:
    """Zenoh blocks that one: what follows waits behind it, and the event loop does not."""
    async with running() as bench:
        count = await calm(bench)
        bench.zenoh.open.clear()
        bench.put(count)
        wait_until(lambda: bench.zenoh.blocked == 1)  # nothing waits in the queue
        for number in (count + 1, count + 2):
            bench.now += 1
            bench.put(number, is_light=True)
        await turns(3)
        assert bench.sent() == list(range(count))
        bench.zenoh.open.set()
        wait_until(lambda: bench.sent() == list(range(count + 3)))


@pytest.mark.wall_clock("a thread sends")
async def test_what_zenoh_refuses_beside_packets_is_the_failure_of_the_session() -> None:
    async with running() as bench:
        bench.session.answer("a/key", print)  # this Zenoh declares no queryables
        await asyncio.to_thread(wait_until, lambda: bench.session.failure)
        assert "declare_queryable" in bench.session.failure
        assert bench.session.failed_puts == 1


async def test_what_arrives_is_bounded_and_a_change_has_more_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A change, such as of a token, comes once: to lose it would cost more than a packet."""
    for name, most in (("ITEMS", 100), ("CHANGES", 101), ("BYTES", 1000)):
        monkeypatch.setattr(inbox, f"MOST_{name}", most)
    came, arrivals = list[int](), inbox.Inbox(asyncio.get_running_loop())

    def put(*sizes: int) -> None:
        for size in sizes:
            arrivals.put(size, came.append, (size,))

    async def handled(count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(came) < count:
                await asyncio.sleep(0)

    put(*[1] * 103, 0, 0)
    assert arrivals.lost == 3 + 1
    await handled(101)
    assert came == [*[1] * 100, 0]
    put(1000, 1, 0)
    assert arrivals.lost == 5
    await handled(103)
    put(1001, 1000)
    assert arrivals.lost == 6
    await handled(104)
    assert came[-3:] == [1000, 0, 1000]
    arrivals.close()


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


@pytest.mark.wall_clock("Zenoh")
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


@pytest.mark.wall_clock("Zenoh")
def test_a_gateway_of_another_version_is_shown_whatever_it_answers(network: Network) -> None:
    network.member("new", version=7)
    network.answer("state", "new", b'{"id": 7, "more": \xff')
    network.answer("link", "new", b"[1]")
    (new,) = found(network, "lab")
    assert (new["version"], new["robots"], new["round_trip_ms"]) == (7, {}, None)


@pytest.mark.wall_clock("Zenoh")
def test_other_tokens_are_not_shown(network: Network) -> None:
    for key in ("hilgw/lab/member/a b/00/1", f"hilgw/lab/member/x/{wire.id_text(ID)}/one"):
        network.kept.append(network.session.liveliness().declare_token(key))
    gateways, problems = survey(CONFIG, [network.endpoint], "lab")
    assert (gateways, problems) == ([], {network.endpoint: "no gateway is there"})


@pytest.mark.wall_clock("Zenoh")
def test_where_nothing_listens_or_answers_is_named(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilgw.federation.survey.CONNECT_MS", 200)
    with socket.create_server((HOST, 0)) as mute, socket.create_server((HOST, 0)) as gone:
        silent, nothing = (f"tcp/{HOST}:{each.getsockname()[1]}" for each in (mute, gone))
        gone.close()
        assert NO_ANSWER == "nothing there answers within 0.7 s"
        expected = dict.fromkeys([nothing, silent], NO_ANSWER)
        assert survey(CONFIG, [nothing, silent], "lab") == ([], expected)


@pytest.mark.wall_clock("Zenoh")
def test_the_others_are_shown_where_an_endpoint_fails(network: Network) -> None:
    network.member("bench")
    gateways, problems = survey(CONFIG, ["nonsense", network.endpoint], "lab")
    assert [each["name"] for each in gateways] == ["bench"]
    assert list(problems) == ["nonsense"]


@pytest.mark.wall_clock("Zenoh")
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
