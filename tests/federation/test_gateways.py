"""Several gateways on one medium, on an in-memory network: who gets a packet, and the counts."""

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hilgw.errors import PortError
from hilgw.federation.federation import FORGET_NS
from hilgw.federation.outgoing import LONGEST_PACKET
from hilgw.medium.airs import Origin
from hilgw.medium.obstacles import Obstacle, Sphere
from hilgw.medium.packet import BROADCAST, Copy
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Clock
from tests.federation.fakes import Lab, Network, Node, lab
from tests.scenarios import scenario_of

NAMES = ("desk", "field", "tower")

CHANNELS = st.one_of(
    st.none(), st.frozensets(st.sampled_from([BROADCAST, 1, 2, 3]), min_size=1, max_size=2)
)
POSES = st.one_of(st.none(), st.builds(Pose, st.tuples(*[st.floats(-20, 20, allow_nan=False)] * 3)))
LISTENERS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["radio", "infra-red"]),
        "channels": CHANNELS,
        "owner": st.sampled_from([None, "r0", "r1"]),
        "air": st.sampled_from([None, None, "lab", "roof"]),
        "relay": st.booleans(),
        "enabled": st.sampled_from([True, True, True, False]),
        "aperture": st.sampled_from([-1.0, 2.0]),
        "pose": POSES,
    }
)
PACKETS = st.fixed_dictionaries(
    {
        "channel": st.sampled_from([BROADCAST, 1, 2, 3]),
        "type": st.sampled_from(["radio", "infra-red"]),
        "owner": st.sampled_from([None, "r0", "r1"]),
        "range": st.sampled_from([-1.0, 5.0, 20.0]),
        "aperture": st.sampled_from([-1.0, 1.5]),
        "air": st.sampled_from([None, None, None, "lab", "roof", "far"]),
        "is_own": st.booleans(),
    }
)


def signal(copy: Copy) -> tuple[Any, ...]:
    """What a copy has, but times and names of sources."""
    strength, ahead = copy.signal_strength, copy.direction
    rounded = tuple(None if math.isnan(each) else round(each, 9) for each in ahead)
    packet = copy.packet
    return packet.data, packet.channel, None if math.isnan(strength) else strength, rounded


@pytest.mark.exhaustive
@settings(max_examples=120, deadline=None)
@given(
    listeners=st.lists(st.tuples(st.sampled_from(NAMES), LISTENERS), max_size=8),
    packets=st.lists(st.tuples(st.sampled_from(NAMES), POSES, PACKETS), max_size=8),
)
@scenario_of(lab, *NAMES)
async def test_it_is_as_if_all_were_on_one_medium(
    bench: Lab,
    /,
    listeners: list[tuple[str, dict[str, Any]]],
    packets: list[tuple[str, Pose | None, dict[str, Any]]],
) -> None:
    """Each packet comes once to the same listeners, in order, with the same signal. Which of the
    modules of an air sends it may differ: it is one of those that receive it."""
    one = Node(Network(), Clock(), "one")
    for index, (name, given_) in enumerate(listeners):
        bench[name].listen(f"l{index}", **given_)
        one.listen(f"l{index}", **given_)
    await bench.begin()
    for index, (name, pose, given_) in enumerate(packets):
        data = bytes([index])
        bench[name].send(data, pose=pose, on="truck", source=f"tx.{name}", **given_)
        one.send(data, pose=pose, on="truck", source=f"tx.{name}", **given_)
    await bench.run(2)
    in_air: dict[tuple[str, bytes], int] = {}
    for index, (name, given_) in enumerate(listeners):
        here, there = bench[name].got[f"l{index}"], one.got[f"l{index}"]
        if given_["air"] is None:
            for copies in (here, there):  # the order is that of each Emitter
                copies.sort(key=lambda each: packets[each.packet.data[0]][0])
            assert [signal(each) for each in here] == [signal(each) for each in there]
        for step, copies in ((1, here), (-1, there)):
            for copy in copies:
                key = given_["air"], copy.packet.data
                in_air[key] = in_air.get(key, 0) + step * (given_["air"] is not None)
    reachable = all(given_["pose"] is None for _, given_ in listeners)
    same = all(given_["enabled"] and given_["owner"] is None for _, given_ in listeners)
    if reachable and same:
        assert not any(in_air.values())
    for name in NAMES:  # nothing comes to a gateway whose listeners are on other channels
        for other in set(NAMES) - {name}:
            member = bench[name].member(other)
            assert member.unsettled == 0
            assert sum(each.lost for each in member.outgoing.values()) == 0


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    lost=st.sampled_from([0.0, 0.1, 0.9]),
    doubled=st.sampled_from([0.0, 0.3]),
    swapped=st.sampled_from([0.0, 0.3]),
    steps=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["send", "send", "part", "heal", "run"])),
        max_size=25,
    ),
)
def test_nothing_comes_twice_and_each_loss_is_counted(
    seed: int, lost: float, doubled: float, swapped: float, steps: list[tuple[str, str]]
) -> None:
    async def main(bench: Lab) -> None:
        for node in bench.nodes.values():
            node.listen(f"rx.{node.name}")
        await bench.begin()
        bench.network.lost, bench.network.doubled, bench.network.swapped = lost, doubled, swapped
        number = 0
        pairs = {name: (bench[name].session, bench["desk"].session) for name in NAMES[1:]}
        parted: set[str] = set()
        for name, action in steps:
            if action == "send":
                for _ in range(4):
                    bench[name].send(number.to_bytes(2), source=f"tx.{name}")
                    number += 1
            elif action == "run":
                await bench.run()
            elif action == "part" and name in pairs and name not in parted:
                bench.network.part(*pairs[name])
                parted.add(name)
            elif action == "heal" and name in parted:
                bench.network.heal(*pairs[name])
                parted.remove(name)
            bench.check()
        for name in parted:
            bench.network.heal(*pairs[name])
        await bench.run(25)
        for node in bench.nodes.values():
            sources = [each.packet.source for each in node.got[f"rx.{node.name}"]]
            data = node.data(f"rx.{node.name}")
            for source in set(sources):
                mine = [each for each, of in zip(data, sources, strict=True) if of == source]
                assert mine == sorted(set(mine))
            for other in set(NAMES) - {node.name}:
                counts = node.counts(other)
                there = bench[other].member(node.name).into("radio")
                assert counts["queued"] == 0
                assert counts["delivered"] == there.received
                assert sum(counts["refused"].values()) == there.lost
                from_here = f"tx.{node.name}@{node.name}"
                came = [e for e in bench[other].got[f"rx.{other}"] if e.packet.source == from_here]
                assert len(came) == there.received

    lab(main, *NAMES, seed=seed)


@scenario_of(lab, "desk", "field")
async def test_payloads_and_their_limits(bench: Lab, /) -> None:
    bench["field"].listen("rx")
    await bench.begin()
    given_ = [bytes(range(256)), b"\0", b"\0" * 40, b"x" * LONGEST_PACKET]
    for data in (*given_, b"x" * (LONGEST_PACKET + 1)):
        bench["desk"].send(data)
    await bench.run(2)
    assert bench["field"].data("rx") == given_
    counts = bench["desk"].counts("field")
    assert (counts["delivered"], counts["refused"]) == (4, {"too_long": 1})


@scenario_of(lab, "desk", "field")
async def test_a_full_queue_refuses_at_once(bench: Lab, /) -> None:
    bench["field"].listen("rx")
    await bench.begin()
    bench["desk"].session.is_full = True
    bench["desk"].send(b"a")
    bench["desk"].session.is_full = False
    bench["desk"].send(b"b")
    await bench.run(2)
    assert bench["field"].data("rx") == [b"b"]
    assert bench["desk"].counts("field")["refused"] == {"overflow": 1}


@scenario_of(lab, "desk", "field")
async def test_receivers_are_retuned_disabled_and_go_while_packets_come(bench: Lab, /) -> None:
    desk, field = bench["desk"], bench["field"]
    listener = field.listen("rx")
    await bench.begin()
    desk.send(b"a")
    await bench.settle()
    field.medium.retune("rx", frozenset({7}))
    await bench.settle()
    desk.send(b"not")
    desk.send(b"b", 7)
    await bench.settle()
    field.medium.retune("rx", None)
    await bench.settle()
    desk.send(b"c", 999)
    await bench.settle()
    listener.enabled = False
    desk.send(b"not")
    await bench.settle()
    listener.enabled = True
    desk.send(b"d", BROADCAST)
    await bench.settle()
    field.medium.detach("rx")
    await bench.settle()
    desk.send(b"not")
    await bench.run(2)
    assert field.data("rx") == [b"a", b"b", b"c", b"d"]
    # The disabled one is there: its gateway has the packet, and the reason.
    assert desk.counts("field")["delivered"] == 5
    assert field.ledger.as_dict()["medium"]["not_received"] == {"disabled": 1}


@scenario_of(lab, "desk", "field", desk=["uart0"], field=["uart0"])
async def test_a_line_of_its_own_is_not_an_air_of_another_gateway(bench: Lab, /) -> None:
    """Both gateways have an adapter uart0: what comes on one line goes out on the other one."""
    for node in bench.nodes.values():
        node.listen("uart0", air="uart0", relay=True)
    await bench.begin()
    bench["desk"].send(b"a", source="uart0", air="uart0")
    await bench.run()
    assert bench["desk"].data("uart0") == []
    assert bench["field"].data("uart0") == [b"a"]


@scenario_of(lab, "desk", "field", "tower")
async def test_one_module_of_an_air_sends_and_that_of_the_same_gateway_first(bench: Lab, /) -> None:
    """Two would send the packet twice; where its gateway is gone, another one sends."""
    for name in ("field", "tower"):
        bench[name].listen(f"x.{name}", air="lab")
        bench[name].listen(f"rx.{name}")
    await bench.begin()
    bench["desk"].send(b"a")
    bench["tower"].send(b"b")
    await bench.run()
    assert bench["field"].data("x.field") == [b"a"]
    assert bench["tower"].data("x.tower") == [b"b"]
    for name in ("field", "tower"):
        assert sorted(bench[name].data(f"rx.{name}")) == [b"a", b"b"]
    bench["field"].kill()
    await bench.run()
    bench["desk"].send(b"c")
    await bench.run()
    assert bench["tower"].data("x.tower") == [b"b", b"c"]


LONG = "0013A20040000001"


@scenario_of(lab, "desk", "field", "tower")
async def test_echoes_and_duplicates_are_recognised_across_gateways(bench: Lab, /) -> None:
    desk, field, tower = (bench[name] for name in NAMES)
    for node in (desk, field):
        node.listen(f"x.{node.name}", air="lab")
        node.airs.own("lab", f"x.{node.name}", [])
    tower.listen("rx")
    await bench.begin()
    # The module of the desk transmits; that of the field receives it: an echo.
    desk.airs.sent("lab", b"ours", bench.clock.now(), "x.desk")
    await bench.settle()
    origin, _ = field.airs.origin("lab", "x.field", None, b"ours", bench.clock.now())
    assert origin is Origin.ECHO
    # A foreign module transmits once, both modules receive it: it comes once.
    for node in (desk, field):
        station = f"x.{node.name}"
        now = bench.clock.now()
        assert node.airs.origin("lab", station, LONG, b"new", now)[0] is Origin.FOREIGN
        if not node.airs.is_duplicate("lab", station, LONG, b"new", now):
            node.send(b"new", source=station, air="lab", address=LONG)
        await bench.settle()
    assert tower.data("rx") == [b"new"]


@scenario_of(lab, "desk", "field", "tower")
async def test_two_modules_report_one_transmission_at_once(bench: Lab, /) -> None:
    """Each gateway has put it on its medium before it had that of the other one; a third one
    drops the second."""
    for node in (bench["desk"], bench["field"]):
        node.listen(f"x.{node.name}", air="lab")
        node.airs.own("lab", f"x.{node.name}", [])
    bench["tower"].listen("rx")
    await bench.begin()
    for node in (bench["desk"], bench["field"]):
        assert not node.airs.is_duplicate("lab", f"x.{node.name}", LONG, b"new", 0)
        node.send(b"new", source=f"x.{node.name}", air="lab", address=LONG)
    await bench.run(2)
    assert bench["tower"].data("rx") == [b"new"]
    dropped = [bench["tower"].member(name).dropped["duplicate"] for name in ("desk", "field")]
    assert sum(dropped) == 1


@scenario_of(lab, "desk", "field", "tower")
async def test_the_pose_of_a_robot_comes_from_the_gateway_that_has_it(bench: Lab, /) -> None:
    here, there = bench["desk"], bench["field"]
    here.scene.add("rover", Pose((1.0, 2.0, 3.0)))
    there.scene.add("rover", None)
    there.listen("rover.x", owner="rover")
    await bench.begin()
    pose = there.scene.pose_of("rover")
    assert pose is not None
    assert pose.position == (1.0, 2.0, 3.0)
    here.scene.place("rover", Pose((4.0, 0.0, 0.0)))
    await bench.run()
    assert there.scene.pose_of("rover") == Pose((4.0, 0.0, 0.0))
    bench["tower"].send(b"near", pose=Pose((5.0, 0.0, 0.0)), range=2.0)
    bench["tower"].send(b"far", pose=Pose((9.0, 0.0, 0.0)), range=2.0)
    await bench.run()
    assert there.data("rover.x") == [b"near"]
    here.kill()
    await bench.run()
    assert there.scene.pose_of("rover") is None


@scenario_of(lab, "desk", "field")
async def test_the_next_run_is_there_before_the_last_one_is_known_to_be_gone(bench: Lab, /) -> None:
    desk, field = bench["desk"], bench["field"]
    await bench.begin()
    bench.network.sessions.remove(field.session)  # frozen: its token is still there
    again = bench.add("field", "again")
    again.listen("rx")
    again.start()
    await bench.run(3)
    assert desk.member("field").id == field.federation.id
    for token in field.session.tokens:
        desk.session.see(field.session, token, is_there=False)
        again.session.see(field.session, token, is_there=False)
    await bench.run(2)
    assert desk.member("field").id == again.federation.id
    desk.send(b"a")
    await bench.run(2)
    assert again.data("rx") == [b"a"]


@scenario_of(lab, "desk", "field")
async def test_what_a_lost_gateway_does_not_confirm_is_lost_until_it_is_back(bench: Lab, /) -> None:
    desk, field = bench["desk"], bench["field"]
    field.listen("rx")
    await bench.begin()
    desk.send(b"a")
    await bench.settle()  # it has it, and did not confirm it
    bench.network.part(desk.session, field.session)
    await bench.run()
    assert desk.counts("field")["queued"] == 1
    bench.clock.run(FORGET_NS)
    await bench.run(2)
    assert desk.counts("field")["refused"] == {"unconfirmed": 1}
    bench.network.heal(desk.session, field.session)
    await bench.run(3)
    desk.send(b"b")
    await bench.run(2)
    assert field.data("rx") == [b"a", b"b"]
    counts = desk.counts("field")
    assert (counts["delivered"], sum(counts["refused"].values()), counts["queued"]) == (2, 0, 0)


@scenario_of(lab, "desk", "field")
async def test_a_gateway_that_ends_loses_nothing_uncounted(bench: Lab, /) -> None:
    desk, field = bench["desk"], bench["field"]
    desk.listen("rx")
    field.listen("rx")
    await bench.begin()
    for index in range(20):
        desk.send(b"%d" % index)
        field.send(b"%d" % index)
    assert field.task is not None
    field.task.cancel()
    while not field.task.done():
        await bench.run()
    await bench.run()
    sent, got = desk.counts("field"), [e for e in field.got["rx"] if e.packet.gateway]
    assert sent["queued"] == 0
    assert sent["delivered"] == len(got) == field.member("desk").into("radio").received
    assert sent["delivered"] + sum(sent["refused"].values()) == sent["accepted"] == 20
    came = [each.packet.data for each in desk.got["rx"] if each.packet.gateway]
    assert came == [b"%d" % index for index in range(20)]
    assert desk.gateway.supervisors["gateway@field"].reason == "it ended"
    mine = field.counts("desk")
    assert mine["accepted"] == mine["delivered"] + mine["expired"] == 20


def ended_and_other(one: Node, other: Node) -> tuple[Node, Node]:
    """Return which of two has ended, and the other one, which has not."""
    ended = [node.task is not None and node.task.done() for node in (one, other)]
    assert sorted(ended) == [False, True]
    return (one, other) if ended[0] else (other, one)


@pytest.mark.parametrize("gap_ms", [0, 1, 3000])
@scenario_of(lab, "field")
async def test_of_two_gateways_of_one_name_exactly_the_newer_one_ends(
    bench: Lab, /, gap_ms: int
) -> None:
    bench["field"].listen("rx")
    await bench.begin()
    older = bench.add("desk", "older")
    older.start()
    await bench.settle()
    bench.clock.run(gap_ms * 1_000_000)
    newer = bench.add("desk", "newer")
    newer.start()
    await bench.run(12)
    ended, stays = ended_and_other(older, newer)
    assert gap_ms <= 100 or ended is newer
    assert ended.task is not None
    error = ended.task.exception()
    assert isinstance(error, PortError)
    assert str(error) == (
        "federation: another gateway of this network has the name 'desk'; give this one "
        "another name in `federation`"
    )
    assert bench["field"].member("desk").id == stays.federation.id
    stays.send(b"a")
    await bench.run(2)
    assert bench["field"].data("rx") == [b"a"]


@pytest.mark.parametrize("gap_ms", [0, 3000])
@scenario_of(lab, "field")
async def test_names_that_reach_a_third_gateway_and_not_each_other(
    bench: Lab, /, gap_ms: int
) -> None:
    """The one that was first comes to the third gateway last: that one reports it to the other."""
    await bench.begin()
    first, second = bench.add("desk", "first"), bench.add("desk", "second")
    field = bench["field"].session
    bench.network.sessions += [first.session, second.session]
    bench.network.part(first.session, second.session)
    bench.network.part(first.session, field)
    del bench.network.sessions[-2:]
    first.start()
    await bench.settle()
    bench.clock.run(gap_ms * 1_000_000)
    second.start()
    await bench.run(20)
    assert bench["field"].member("desk").id == second.federation.id
    bench.network.heal(first.session, field)
    await bench.run(80)
    ended, _ = ended_and_other(first, second)
    assert not gap_ms or ended is second


@scenario_of(lab, "desk", "field", "tower")
async def test_what_a_gateway_reached_is_forgotten_when_it_goes(bench: Lab, /) -> None:
    """It is back before the other one, which it reached before."""
    await bench.begin()
    desk, field, tower = (bench[name] for name in NAMES)
    await bench.run(40)
    bench.network.part(field.session, tower.session)
    await bench.run(40)
    (notice,) = (text for text in field.notices if "reaches" in text)
    assert notice.startswith("desk reaches tower, and this gateway does not: no packet")
    assert field.federation.status()["unreached"] == {"tower": ["desk"]}
    bench.network.part(field.session, desk.session)
    await bench.run(3)
    assert field.federation.status()["unreached"] == {}
    bench.network.heal(field.session, desk.session)
    await bench.run(3)
    assert field.federation.status()["unreached"] == {}
    bench.network.heal(field.session, tower.session)
    await bench.run(40)
    assert field.federation.status()["unreached"] == {}
    bench.network.part(field.session, tower.session)
    await bench.run(40)
    assert field.federation.status()["unreached"] == {"tower": ["desk"]}
    assert sum("reaches" in text for text in field.notices) == 1  # it was named before


@scenario_of(lab, "desk", "field", "tower", seed=3)
async def test_the_counts_of_all_gateways_add_up_together(bench: Lab, /) -> None:
    for name in ("field", "tower"):
        bench[name].listen("rx")
    await bench.begin()
    bench.network.lost = 0.3
    for index in range(50):
        bench["desk"].send(bytes([index]))
    await bench.run(3)
    asking = asyncio.ensure_future(bench["desk"].federation.network())
    await bench.settle()
    counts = await asking
    assert counts.keys() == {"desk", "field", "tower"}
    for name in ("field", "tower"):
        mine, its = counts["desk"]["members"][name], counts[name]["members"]["desk"]
        assert mine["sent"] == 50 == mine["delivered"] + mine["lost"]
        assert (mine["delivered"], mine["lost"]) == (its["received"], its["missed"])
        assert 0 < mine["lost"] < 50


@scenario_of(lab, "desk", "field")
async def test_what_zenoh_refuses_is_a_state_of_the_gateway(bench: Lab, /) -> None:
    await bench.begin()
    desk = bench["desk"]
    assert desk.federation.state == "up"
    desk.session.failure = "the session is closed"
    await bench.run()
    assert desk.federation.state == "failed"
    assert "the session is closed; restart the gateway" in desk.federation.reason


@scenario_of(lab, "desk", "field")
async def test_a_link_that_is_full_is_named_with_what_passes(bench: Lab, /) -> None:
    """Its queries wait behind the packets, so that no answer comes in time."""
    for node in bench.nodes.values():
        node.listen("rx")
    await bench.begin()
    await bench.run(5)
    desk, field = bench["desk"], bench["field"]
    link = lambda: desk.federation.status()["gateways"]["field"]  # noqa: E731
    assert link()["reason"] == ""
    taken = {key: field.session.queryables.pop(key) for key in [*field.session.queryables]}
    desk.send(b"1")
    for _ in range(5):
        desk.session.left_bytes += 20_000
        field.send(bytes(3000))
        await bench.run(10)
    assert (link()["state"], link()["unsettled"]) == ("up", 1)
    assert "s: the link is full, or it hangs; " in link()["reason"]
    assert " kB/s are offered with 1 packets not confirmed, 3 kB/s come" in link()["reason"]
    assert " 0 kB/s are offered" not in link()["reason"]
    field.session.queryables.update(taken)
    await bench.run(30)
    assert link()["reason"] == ""


@scenario_of(lab, "desk", "field")
async def test_another_version_is_refused_with_both_numbers_and_may_come_back(
    bench: Lab, /
) -> None:
    other = bench.add("old", version=2)
    other.listen("rx")
    bench["desk"].listen("rx")
    await bench.begin()
    neighbour = bench["desk"].gateway.supervisors["gateway@old"]
    reason = "speaks version 2 of the federation, this gateway 1"
    assert (neighbour.state, neighbour.reason) == ("failed", reason)
    bench["desk"].send(b"a")
    await bench.run(2)
    assert other.data("rx") == []
    other.kill()
    await bench.run()
    assert neighbour.reason == "lost"


@scenario_of(lab, "desk", "field", "tower")
async def test_obstacles_are_judged_where_the_listener_is(bench: Lab, /) -> None:
    bench["field"].medium.obstruct(Obstacle(Sphere(0.5), Pose((1.0, 0.0, 0.0))))
    for name in ("field", "tower"):
        bench[name].listen("rx", type="infra-red", pose=Pose((2.0, 0.0, 0.0)))
    await bench.begin()
    bench["desk"].send(b"a", type="infra-red", pose=Pose())
    await bench.run()
    assert (bench["field"].data("rx"), bench["tower"].data("rx")) == ([], [b"a"])
