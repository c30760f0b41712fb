"""Controllers, the proxy and Webots on sockets: handshake, names, and every way to end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from firmware_mocks import webots_controller, webots_simulator
from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.control_loop.servers.webots_handshake import Place
from hilgw.engine.control_loop.servers.webots_server import WebotsServer
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.listening import Listening
from hilgw.engine.mock_host import MockHost
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.reporting.latency import Latency
from hilgw.plugins import new_air
from hilgw.protocols.webots.answers import Image, encode_answer
from hilgw.protocols.webots.handshake import encode_hello
from hilgw.protocols.webots.requests import encode_request
from hilgw.testing.sim import Recorder, until
from hilgw.transports.tcp.device import TcpClientDevice, TcpListenerDevice
from tests.e2e.running import HOST, free_port
from tests.engine.fakes import running as run_gateway

GO = "enable rx 32; step 32 x 0"
DEVICES = "camera:Camera width=16 height=12, tx:Emitter channel=12, rx:Receiver channel=12"
ROBOT = "  {name}: {{devices: {{tx: {{node: Emitter, channel: 12}}, rx: {{node: Receiver}}}}, "
CONTROLLER = (
    'controller: {{kind: webots_proxy, listen: "tcp://{host}:{listen}", '
    'connect: "tcp://{host}:{connect}"}}}}'
)
FIRST = encode_request(0, [(0, b"\x23\0\0")])


class World:
    """A gateway with one proxy port for the robots, and mocks on real sockets."""

    def __init__(self, robots: tuple[str, ...], connect: int | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.timer = Timer(self.loop)
        self.host = MockHost(self.timer, new_air())
        self.log = Recorder()
        self.robots = robots
        self.port = free_port()
        self.webots = TcpListenerDevice(HOST, connect or 0)
        self.connect = connect
        self.stop = asyncio.Event()
        self.gateway: Gateway | None = None

    async def serve(self) -> webots_simulator.Simulator:
        """Webots starts."""
        given = {"robots": ",".join(self.robots), "devices": DEVICES, "speed": "fast"}
        made = webots_simulator.create("webots", self.host.air, given)
        await self.webots.listen()
        self.host.add(made, self.webots)
        return made

    def start(self) -> asyncio.Task[None]:
        connect = self.connect or int(self.webots.path.rpartition(":")[2])
        text = "version: 1\nrobots:\n"
        for name in self.robots:
            text += ROBOT.format(name=name)
            text += CONTROLLER.format(host=HOST, listen=self.port, connect=connect) + "\n"
        self.gateway = build(load_text(text, "f").config, self.loop, self.log)
        return self.loop.create_task(self.gateway.run(self.stop))

    def controller(self, robot: str, script: str = GO) -> webots_controller.Controller:
        given = {"robot": robot, "script": script}
        made = webots_controller.create(f"{robot} {len(self.host.mocks)}", self.host.air, given)
        device = TcpClientDevice(retry_s=0.01)
        self.host.add(made, device)
        device.aim(HOST, self.port)
        return made

    def listens(self) -> bool:
        return any("listening" in reason for _, _, reason in self.log.states)

    def report(self, robot: str) -> dict[str, Any]:
        assert self.gateway is not None
        report: dict[str, Any] = self.gateway.report()["proxies"][robot]
        return report


@asynccontextmanager
async def running(*robots: str, webots: bool = True) -> AsyncIterator[World]:
    world = World(robots, None if webots else free_port())
    if webots:
        await world.serve()
    task = world.start()
    try:
        await until(world.listens)
        yield world
    finally:
        world.stop.set()
        await task
        world.host.close()
        world.timer.close()
        assert world.gateway is not None
        assert world.gateway.ledger.violations() == []
        world.gateway.close()


def peers(world: World) -> int:
    """How many connections Webots has."""
    return sum(isinstance(mock, webots_simulator.Peer) for mock in world.host.mocks)


def steps(controller: webots_controller.Controller) -> int:
    return controller.counts["steps"]


async def test_robots_on_one_port_are_distinguished_by_their_names() -> None:
    async with running("rob", "rob 2") as world:
        first, second = world.controller("rob"), world.controller("rob 2")
        await until(lambda: steps(first) > 3 and steps(second) > 3)
        third = world.controller("rob 2")
        await until(lambda: third.ended == "rejected")  # by Webots: FORBIDDEN
        other = world.controller("")  # names no robot, and there are two
        await until(lambda: other.counts["FAILED"] > 1)
        assert world.report("rob 2")["connections"] == 1
        now = steps(second)
        await until(lambda: steps(second) > now)
        assert len([text for text in world.log.notices if "names no robot" in text]) == 1


async def test_garbage_of_a_controller_harms_itself_only() -> None:
    """One notice is for all peers that are not controllers."""
    async with running("a", "b") as world:
        for _ in range(3):
            reader, writer = await asyncio.open_connection(HOST, world.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await reader.read() == b""
            writer.close()
        assert sum("the peer is not a Webots" in text for text in world.log.notices) == 1
        good, bad = world.controller("a"), world.controller("b", "step 32 x 3; garbage")
        await until(lambda: bool(bad.ended))
        now = steps(good)
        await until(lambda: steps(good) > now + 3)
        again = world.controller("b", "step 32 x 2")  # Webots has its robot free again
        await until(lambda: again.ended == "left")
        await until(lambda: peers(world) == 1)  # who has left is hosted no more


async def test_a_server_that_ends_while_it_opens_does_not_listen_later() -> None:
    listening = Listening(HOST, 0)
    server, place = (
        WebotsServer(listening, lambda *_: None),
        cast("Place", SimpleNamespace(robot="a")),
    )
    server.add(place)
    user = asyncio.create_task(server.open(lambda text: None))
    await asyncio.sleep(0)
    user.cancel()
    server.remove(place)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert others
    await asyncio.gather(*others, return_exceptions=True)
    assert listening.where == ""


@pytest.mark.parametrize("first", ["webots", "the gateway"])
async def test_a_controller_is_ended_when_webots_or_the_gateway_ends(first: str) -> None:
    async with running("a") as world:
        pilot = world.controller("a")
        await until(lambda: steps(pilot) > 3)
        if first == "webots":
            world.webots.unplug()
        else:
            world.stop.set()
        await until(lambda: pilot.ended == "quit")
        await until(lambda: not world.report("a")["connected"])


async def test_without_webots_a_controller_tries_again() -> None:
    async with running("a", webots=False) as world:
        pilot = world.controller("a", "step 32 x 5")
        await until(lambda: pilot.counts["FAILED"] > 1)
        await world.serve()
        await until(lambda: pilot.ended == "left")
        assert len([text for text in world.log.notices if "refused" in text]) == 1


async def test_the_mock_of_webots_has_the_devices_of_the_configuration() -> None:
    """Those of all robots behind one address, as they share the mock; settings name others."""
    script = "mock: {script: \"enable rx 32; send '%s' ping; step 32 x 0\"}}}\n"
    lines = [
        ROBOT.format(name=robot).replace("tx:", f"{tx}:")
        + CONTROLLER.format(host=HOST, listen=0, connect=1234).removesuffix("}}")
        + f", {script % tx}"
        for robot, tx in (("a", "radio"), ("b", "infra red"))
    ]
    text = "version: 1\nbackend: mock\nrobots:\n" + "".join(lines).replace(":0", f":{free_port()}")
    log = Recorder()
    async with run_gateway(load_text(text, "f").config, log) as gateway:
        reports = gateway.report()["proxies"]
        await until(lambda: all(gateway.report()["proxies"][r]["packets_out"] for r in reports))
    assert not [text for text in log.notices if "no device" in text]


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def raw() -> AsyncIterator[Ends]:
    """A controller's line has reached a server of bytes in the place of Webots."""
    accepted: asyncio.Queue[Any] = asyncio.Queue()
    async with running("a", webots=False) as world:
        server = await asyncio.start_server(
            lambda *ends: accepted.put_nowait(ends), HOST, world.connect
        )
        reader, writer = await asyncio.open_connection(HOST, world.port)
        line = encode_hello("a")
        writer.write(line)
        webots, to_controller = await accepted.get()
        assert await webots.readexactly(len(line)) == line
        try:
            yield reader, writer, webots, to_controller
        finally:
            writer.close()
            to_controller.close()
            server.close()


async def test_word_requests_and_goodbye_pass_and_no_answer_before_the_first_request() -> None:
    async with raw() as (reader, writer, webots, to_controller):
        to_controller.write(b"CONN")
        await asyncio.wait({asyncio.ensure_future(to_controller.drain())})
        to_controller.write(b"ECTED" + encode_answer(0, b"\3\0\1early"))
        assert await reader.read(10) == b"CONNECTED"
        early = asyncio.ensure_future(reader.read(100))
        goodbye = encode_request(0, [(0, b"\x26")]) + bytes(4)
        writer.write(FIRST)
        assert await early == encode_answer(0, b"\3\0\1early")
        writer.write(goodbye)
        writer.close()
        assert await webots.read() == FIRST + goodbye


async def test_a_controller_that_reads_slowly_loses_nothing() -> None:
    """Webots waits for it, as without a proxy: images of 40 MB pass."""
    async with raw() as (reader, writer, _, to_controller):
        to_controller.write(b"CONNECTED")
        await reader.readexactly(9)
        writer.write(FIRST)
        data = encode_answer(0, b"\3\0\1", [Image(1, 0, bytes(range(256)) * 40_000)] * 4)
        to_controller.write(data)
        to_controller.write(encode_answer(0))
        assert await reader.readexactly(len(data)) == data
        to_controller.close()
        assert (await reader.readexactly(15)) == encode_answer(0)
        assert (await reader.read(1000)).endswith(b"\0\0\2")  # QUIT


@pytest.mark.parametrize("word", [b"PROCESSING", b"FORBIDDEN", b"FAILED"])
async def test_other_words_pass_and_both_ends_close(word: bytes) -> None:
    async with raw() as (reader, _, webots, to_controller):
        to_controller.write(word)
        assert await reader.read() == word
        assert await webots.read() == b""


def test_the_latencies_are_those_of_the_last_connection() -> None:
    latency = Latency()
    robot: Any = SimpleNamespace(name="r", emitters={"tx": SimpleNamespace(latency=latency)})
    robot.receivers = {}
    session: Any = None
    proxied = ProxiedRobot(robot, "r", session, session, Recorder())
    latency.add(1)
    proxied.begin(session)
    assert latency.count == 0
