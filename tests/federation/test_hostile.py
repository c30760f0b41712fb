"""What another program puts on the keys of a federation: counted, without an effect."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from hilgw.federation import wire
from hilgw.federation.incoming import MOST_SOURCES
from hilgw.federation.roster import MOST_MEMBERS
from hilgw.medium.airs import Origin
from hilgw.medium.pose import Pose
from hilgw.units import NS_PER_S
from tests.federation.fakes import FakeSession, Lab, Node, lab
from tests.scenarios import scenario_of

KEY = "hilgw/lab/packet/desk/radio/1"


def summary(node: Node) -> dict[str, Any]:
    return node.federation.summary()


async def stranger(bench: Lab) -> FakeSession:
    """The session of another program."""
    other = FakeSession(bench.network, bench.clock.now)
    await other.open()
    return other


async def begin(bench: Lab) -> FakeSession:
    """The desk sends to the field; the session of another program."""
    bench["field"].listen("rx")
    await bench.begin()
    bench["desk"].send(b"first")
    await bench.run(2)
    return await stranger(bench)


async def goes_on(bench: Lab, *more: bytes) -> None:
    """The link works, and both ends count the same."""
    bench["desk"].send(b"last")
    await bench.run(12)
    assert bench["field"].data("rx") == [b"first", *more, b"last"]
    counts = bench["desk"].counts("field")
    assert (counts["delivered"], counts["queued"], counts["refused"]) == (2, 0, {})
    into = bench["field"].member("desk").into("radio")
    assert (into.received, into.lost) == (2, 0)


def bytes_that_are_no_attachment(bench: Lab, other: FakeSession) -> None:
    for attachment in (b"x", b"{", b"\0", b"\0\1", b"\0\2" + bytes(16), b'{"range": NaN}'):
        other.put(KEY, b"bad", attachment)
    other.put(KEY, b"", None)
    other.put("hilgw/lab/packet/d!/radio/1", b"bad", None)


def packets_with_the_name_of_a_gateway(bench: Lab, other: FakeSession) -> None:
    field, own = bench["field"].federation.id, KEY.replace("desk", "field")
    other.put(KEY, b"bad", None)
    other.put(own, b"bad", None)
    other.put(KEY, b"bad", wire.trailer(99, 0, [(field, 2)]))
    other.put(own, b"bad", wire.trailer(field, 0, [(field, 2)]))


def numbers_that_no_packet_has(bench: Lab, other: FakeSession) -> None:
    field, desk = bench["field"].federation.id, bench["desk"].federation.id
    for number in (0, 1, 2000, 1 << 31, 1 << 63, (1 << 64) - 1):
        other.put(KEY, b"bad", wire.trailer(desk, -1 << 63, [(field, number)]))


def link_queries_with_wrong_counts(bench: Lab, other: FakeSession) -> None:
    id = bench["desk"].id
    for sent in (0, 5, 1 << 40):
        query = wire.encode_json(wire.LinkQuery("desk", id, {"radio": sent, "nonsense": 5}))
        other.get("hilgw/lab/link/field", lambda query=query: query, lambda *given: None)
    other.get("hilgw/lab/link/field", lambda: b"\xff" * 9999, lambda *given: None)


def states_that_a_gateway_has_not(bench: Lab, other: FakeSession) -> None:
    for name in ("desk", "field"):
        id = bench[name].id
        for state in (
            wire.GatewayState(id, uptime_ms=1 << 60, revision=1 << 60),
            wire.GatewayState("0" * 16, uptime_ms=1 << 60, revision=1 << 60),
            wire.GatewayState(id, revision=1 << 61, leaving=True, acknowledged={"x": {}}),
        ):
            other.put(f"hilgw/lab/state/{name}", wire.encode_json(state))
        other.put(f"hilgw/lab/state/{name}", b"{" * 3_000_000)
    other.put("hilgw/lab/state/nobody", b"{")


def tokens_with_the_names_of_gateways(bench: Lab, other: FakeSession) -> None:
    for name in ("desk", "field"):
        for id in range(300):
            other.live(f"hilgw/lab/member/{name}/{id:016x}/1")
            other.live(f"hilgw/lab/member/{name}/{id:016x}/9")
    other.live("hilgw/lab/member/desk/x/1")


@pytest.mark.parametrize(
    ("attempt", "dropped", "refused", "late"),
    [
        (bytes_that_are_no_attachment, {"malformed": 8}, {}, 0),
        (packets_with_the_name_of_a_gateway, {"wrong_sender": 2, "unknown_sender": 2}, {}, 0),
        (numbers_that_no_packet_has, {"malformed": 4}, {}, 2),
        (link_queries_with_wrong_counts, {}, {"malformed": 1}, 0),
        (states_that_a_gateway_has_not, {}, {"malformed": 1}, 0),
        (tokens_with_the_names_of_gateways, {}, {"malformed": 1}, 0),
    ],
)
@scenario_of(lab, "desk", "field")
async def test_what_another_program_does_between_two_packets_is_counted(
    bench: Lab,
    /,
    attempt: Callable[[Lab, FakeSession], None],
    dropped: dict[str, int],
    refused: dict[str, int],
    late: int,
) -> None:
    other = await begin(bench)
    attempt(bench, other)
    await bench.run(2)
    await goes_on(bench)
    counts = summary(bench["field"])
    assert (counts["outside"]["dropped"], counts["refused"]) == (dropped, refused)
    assert counts["gateways"]["desk"]["late"] == late


@scenario_of(lab, "desk", "field")
async def test_a_false_last_state_does_not_settle_what_is_lost_later(bench: Lab, /) -> None:
    other = await begin(bench)
    field, desk = bench["field"], bench["desk"]
    false = {desk.id: {"radio": (1 << 50, 1 << 50)}}
    id = field.id
    state = wire.GatewayState(id, revision=1 << 61, leaving=True, acknowledged=false)
    other.put("hilgw/lab/state/field", wire.encode_json(state))
    await bench.run()
    desk.send(b"lost")
    field.kill()
    await bench.run()
    counts = desk.counts("field")
    assert (counts["delivered"], counts["refused"]) == (1, {"link": 1})


@scenario_of(lab, "desk")
async def test_a_gateway_is_found_behind_false_tokens_of_its_name(bench: Lab, /) -> None:
    other = await stranger(bench)
    for id in range(5):
        other.live(f"hilgw/lab/member/field/{id:016x}/1")
    desk = bench["desk"]
    desk.start()
    await bench.run(2)
    field = bench.add("field")
    field.listen("rx")
    field.start()
    await bench.run(80)
    desk.send(b"a")
    await bench.run(2)
    assert field.data("rx") == [b"a"]


@scenario_of(lab, "desk")
async def test_a_gateway_of_another_version_is_named_behind_a_false_token(bench: Lab, /) -> None:
    """Neither answers a question of this version: the one that is not a false one has its turn."""
    other = await stranger(bench)
    for id, version in ((1, wire.VERSION), (2, wire.VERSION + 1)):
        other.live(f"hilgw/lab/member/field/{wire.id_text(id)}/{version}")
    bench["desk"].start()
    await bench.run(80)
    field = bench["desk"].gateway.supervisors["gateway@field"]
    assert field.state == "failed" and f"version {wire.VERSION + 1}" in field.reason


@scenario_of(lab, "desk", "field")
async def test_many_tokens_leave_room_for_gateways(bench: Lab, /) -> None:
    other = await begin(bench)
    for index in range(1000):
        other.live(f"hilgw/lab/member/false{index}/{index:016x}/1")
    await bench.run(2)
    field = bench["field"]
    assert len(field.federation.members) == MOST_MEMBERS
    assert len(field.gateway.supervisors) == MOST_MEMBERS
    assert summary(field)["refused"] == {"too_many_gateways": 1001 - MOST_MEMBERS}
    bench.clock.run(2 * NS_PER_S)
    await bench.run()
    tower = bench.add("tower")
    tower.start()
    await bench.run(3)
    tower.send(b"new")
    await bench.run(2)
    assert len(field.federation.members) == MOST_MEMBERS
    await goes_on(bench, b"new")


@scenario_of(lab, "desk", "field")
async def test_answers_of_another_program_are_no_answers(bench: Lab, /) -> None:
    """It answers what is asked of the gateways, before they do, and after."""
    other = await stranger(bench)
    for kind in ("state", "link", "status"):
        for data in (b"", b"{}", b'{"id": "0000000000000000"}', b"[" * 5000):
            other.answer(
                f"hilgw/lab/{kind}/*", lambda query, data=data: query.reply("", lambda: data)
            )
    await begin(bench)
    made = wire.encode_json(wire.NetworkCounts(**bench["field"].federation.counts() | {"id": "0"}))
    later = await stranger(bench)
    later.answer("hilgw/lab/status/*", lambda query: query.reply("", lambda: made))
    asking = asyncio.ensure_future(bench["desk"].federation.network())
    await bench.settle()
    counts = await asking
    assert counts["field"]["id"] == bench["field"].id
    await goes_on(bench)


@scenario_of(lab, "desk", "field")
async def test_false_answers_on_whom_a_gateway_reaches_print_a_bounded_number_of_lines(
    bench: Lab, /
) -> None:
    """Another program answers for the desk, and before it, with other names each time."""
    other, field = await begin(bench), bench["field"]
    bench.network.sessions.insert(0, bench.network.sessions.pop())
    turn = asked = 0

    def answered(query: Any) -> None:
        nonlocal turn, asked
        turn += 1
        asked += wire.decode_json(wire.LinkQuery, query.payload).reaches
        for first in range(turn * 10, turn * 10 + 60, 10):  # more often than asked
            names = [f"x{number}" for number in range(first, first + 100)]
            id = bench["desk"].id
            answer = wire.LinkAnswer(id, 0, 0, reaches=names)
            query.reply("", lambda answer=answer: wire.encode_json(answer))

    other.answer("hilgw/lab/link/*", answered)
    while asked < 1:
        await bench.run()
    assert not any("reaches" in text for text in field.notices)  # one question, one answer
    for _ in range(60):
        await bench.run(20)
    assert asked > 60
    lines = [text for text in field.notices if "reaches" in text]
    assert 0 < len(lines) <= 20
    await bench.run(20)
    assert len(field.federation.status()["unreached"]) <= 100
    too_many = [f"x{number}" for number in range(MOST_MEMBERS + 1)]
    with pytest.raises(wire.Malformed, match="at most 256 names"):
        answer = wire.LinkAnswer("0", 0, 0, reaches=too_many)
        wire.decode_json(wire.LinkAnswer, wire.encode_json(answer))


@scenario_of(lab, "desk", "field")
async def test_packets_that_are_dropped_take_no_name_of_a_source(bench: Lab, /) -> None:
    other, field = await begin(bench), bench["field"]
    for index in range(2 * MOST_SOURCES):
        head = wire.encode_json(wire.Head(source=f"s{index}"))
        other.put(KEY, b"bad", head + b"\0")
        other.put(KEY, b"bad", head + wire.trailer(index, 0, [(index, 1)]))
        other.put(KEY, b"", head)
    await bench.settle()
    await goes_on(bench)
    assert [*field.ledger.as_dict()["received_by"]] == ["tx@desk"]


@scenario_of(lab, "desk", "field")
async def test_poses_and_airs_of_another_program(bench: Lab, /) -> None:
    field = bench["field"]
    field.scene.add("rover", None)
    field.scene.add("fixed", Pose((1.0, 0.0, 0.0)))
    field.listen("x", air="air")
    for node in (bench["desk"], field):
        node.airs.own("air", f"x.{node.name}", [])
    other = await begin(bench)
    for name in ("rover", "fixed", "unknown"):
        for gateway in ("nobody", "desk"):
            key = f"hilgw/lab/pose/{gateway}/{name}"
            for data in (b"", b'{"object": "rover", "position": [NaN, 0, 0]}', b"{" * 9999):
                other.put(key, data)
            fixed = wire.PoseMessage("fixed", (9.0, 9.0, 9.0))
            other.put(key, wire.encode_json(fixed))
    sent = wire.AirSent("air", "x.nobody", None, NS_PER_S, 0)
    for gateway in ("nobody", "desk"):
        other.put(f"hilgw/lab/sent/{gateway}", b"foreign", wire.encode_json(sent))
        other.put(f"hilgw/lab/sent/{gateway}", b"foreign", b"{")
        other.put(f"hilgw/lab/sent/{gateway}", b"foreign", None)
    await bench.run()
    assert field.scene.pose_of("rover") is None
    assert field.scene.pose_of("fixed") == Pose((1.0, 0.0, 0.0))
    origin, _ = field.airs.origin("air", "x", None, b"foreign", bench.clock.now())
    assert origin is Origin.FOREIGN
    assert summary(field)["refused"]["malformed"] >= 7
    await goes_on(bench)


@scenario_of(lab, "desk", "field")
async def test_extreme_numbers_do_nothing_to_the_medium(bench: Lab, /) -> None:
    field = bench["field"]
    field.listen("eye", type="infra-red", pose=Pose((1e9, -1e9, 0.0)), aperture=1.0)
    for index in range(40):  # more than are looked at one by one
        field.listen(f"rx{index}", channels=frozenset({2}), pose=Pose((float(index), 0.0, 0.0)))
    other = await begin(bench)
    extremes = (-1.7e308, -1e-320, 0.0, 1e-320, 1e9, 1.7e308)
    for value in extremes:
        for position in ((-1e9, 1e9, 0.0), (0.0, 0.0, 1e-320), (1e9, -1e9, 0.0)):
            rssi = {"rssi_dbm": value if value < 0 else None, "rssi_at_1m_dbm": -value}
            head = wire.Head("a", position=position, range=value, aperture=value, **rssi)
            data = wire.encode_json(head)
            other.put("hilgw/lab/packet/probe/radio/2", b"x", data)
            other.put("hilgw/lab/packet/probe/infra-red/all", b"x", data)
    await bench.run()
    assert summary(field)["outside"] == {"entered": 3 * 2 * len(extremes), "dropped": {}}
    await goes_on(bench)


@scenario_of(lab, "desk", "field")
async def test_names_of_sources_take_bounded_memory(bench: Lab, /) -> None:
    other = await begin(bench)
    field = bench["field"]
    field.medium.retune("rx", frozenset({9}))
    await bench.settle()
    for index in range(2 * MOST_SOURCES):
        head = wire.encode_json(wire.Head(source=f"s{index}"))
        other.put("hilgw/lab/packet/probe/radio/9", b"x", head)
    await bench.settle()
    sources = field.ledger.as_dict()["received_by"]
    assert len(sources) == MOST_SOURCES + 1
    assert sources["others"] == {"rx": MOST_SOURCES + 1}
    field.medium.retune("rx", frozenset({1}))
    field.got["rx"][1:] = []
    await bench.settle()
    await goes_on(bench)


@pytest.mark.exhaustive
@scenario_of(lab, "desk", "field")
async def test_what_others_send_takes_bounded_memory(bench: Lab, /) -> None:
    """On each key of a gateway, always with another name, head, ID or object."""
    other, field = await begin(bench), bench["field"]

    async def attack(first: int, count: int) -> None:
        for index in range(first, first + count):
            name, padding = f"g{index}", "x" * 200
            id = wire.id_text(index)
            head = wire.encode_json(wire.Head(source=f"s{index}", owner=padding, on=name))
            for key in (f"packet/{name}/radio/1", f"packet/probe/radio/{index}"):
                other.put(f"hilgw/lab/{key}", b"x", head)
            other.put(KEY, b"x", head + wire.trailer(index, 0, [(index, index)]))
            state = wire.GatewayState(id, padding, robots={padding: [name]})
            other.put(f"hilgw/lab/state/{name}", wire.encode_json(state))
            sent = wire.AirSent("air", f"x.{name}", padding, NS_PER_S, 0)
            other.put(f"hilgw/lab/sent/{name}", padding.encode(), wire.encode_json(sent))
            pose = wire.PoseMessage(name, (1.0, 2.0, 3.0))
            other.put(f"hilgw/lab/pose/{name}/{name}", wire.encode_json(pose))
            asked = wire.encode_json(wire.LinkQuery(name, id, {"radio": index}))
            other.get("hilgw/lab/link/field", lambda asked=asked: asked, lambda *_: None)
            if index % 50 == 0:
                await bench.settle()
        await bench.run()
        del field.got["rx"][1:]
        bench.network.puts.clear()
        gc.collect()

    peaks = []
    await attack(0, 1200)
    tracemalloc.start()
    try:
        for first in range(10_000, 40_000, 10_000):
            tracemalloc.reset_peak()
            await attack(first, 400)  # more than fill what is kept of each kind
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 50_000, peaks
    assert set(summary(field)["outside"]["dropped"]) == {"unknown_sender"}
    await goes_on(bench)


@scenario_of(lab, "desk", "field")
async def test_a_token_with_the_id_of_a_gateway_and_another_version(bench: Lab, /) -> None:
    """Wherever it comes: it is not that gateway, which goes on."""
    other = await begin(bench)
    false = bench["field"].session.tokens.copy().pop().removesuffix("1") + "2"
    other.live(false)
    await bench.run(30)
    await goes_on(bench)
    other.withdraw(f"token {false}")
    await bench.run(2)
    bench["desk"].send(b"more")
    await bench.run(2)
    assert bench["field"].data("rx")[-1] == b"more"
    assert bench["desk"].gateway.supervisors["gateway@field"].state == "up"


@scenario_of(lab, "desk", "field")
async def test_a_token_that_another_program_takes_back(bench: Lab, /) -> None:
    """The gateway itself is asked; it is gone once it does not answer."""
    other = await begin(bench)
    for node in bench.nodes.values():
        for token in node.session.tokens.copy():
            other.live(token)
            other.withdraw(f"token {token}")
    await goes_on(bench)
    field = bench["desk"].gateway.supervisors["gateway@field"]
    assert field.state == "up"
    bench["field"].session.tokens.clear()  # Zenoh need not report its end again
    bench["field"].kill()
    await bench.run(15)
    assert (field.state, field.reason) == ("waiting", "lost")


@pytest.mark.parametrize("early", [True, False])
@scenario_of(lab, "desk", "field")
async def test_thousands_of_false_tokens_and_answers(bench: Lab, /, early: bool) -> None:
    """early: before the gateways are there. Those that answer for themselves find each other."""
    bench["field"].listen("rx")
    bench["desk"].listen("rx")
    if not early:
        await bench.begin()
    others = [await stranger(bench) for _ in range(3)]
    for index, other in enumerate(others):
        false = wire.encode_json(wire.GatewayState(wire.id_text(index), revision=1 << 40))
        for name in bench.nodes:
            if not early:
                reply = lambda query, false=false: query.reply("", lambda: false)  # noqa: E731
                other.answer(f"hilgw/lab/state/{name}", reply)
            for id in range(1250):
                other.live(f"hilgw/lab/member/{name}/{wire.id_text(id)}/{1 + id % 2}")
        await bench.run()
    if early:
        await bench.begin()
    await bench.run(30)
    for other in others:
        other.vanish()
        await bench.run(2)
    for sender, receiver in (("desk", "field"), ("field", "desk")):
        bench[sender].send(sender.encode())
        await bench.run(3)
        assert bench[receiver].data("rx").count(sender.encode()) == 1
        member = bench[receiver].member(sender)
        assert member.counts()["late"] == 0 and member.key.version == wire.VERSION


@pytest.mark.parametrize("end", ["desk", "field"])
@scenario_of(lab, "desk", "field")
async def test_an_end_that_has_forgotten_the_other_begins_a_new_epoch(
    bench: Lab, /, end: str
) -> None:
    await begin(bench)
    for _ in range(20):
        bench["desk"].send(b"before")
    await bench.run(3)
    forgotten = {
        "desk": bench["desk"].member("field").outgoing,
        "field": bench["field"].member("desk").incoming,
    }
    forgotten[end].clear()
    for _ in range(8):
        bench["desk"].send(b"between")
        await bench.run(3)
    bench["desk"].send(b"after")
    await bench.run(3)
    assert bench["field"].data("rx")[-1] == b"after"
    counts = bench["desk"].counts("field")
    assert counts["queued"] == 0 and counts["delivered"] >= 22
