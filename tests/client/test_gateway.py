"""`hilgw.client.Gateway` beside a real gateway; a gateway of another version."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.client import Gateway
from hilgw.client.arming import disarm
from hilgw.engine.observer import ValueEvent
from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.client.several import Running, peer, running, with_robots


@pytest.fixture
def gateways(folder: Path) -> Iterator[Running]:
    with running(folder, a=with_robots("cab", "bus")) as found:
        yield found


def test_it_is_found(folder: Path) -> None:
    with pytest.raises(PeerError, match="no gateway of yours is running"):
        Gateway.find()
    with running(folder, a=with_robots("cab"), b=with_robots("bus")):
        assert [each.path.name for each in Gateway.find_all()] == ["a.sock", "b.sock"]
        assert Gateway.find_all()[1].label == f"/b.yaml at {folder}/b.sock"
        with pytest.raises(UsageError, match="several gateways are running"):
            Gateway.find()
        assert Gateway.find("b") == Gateway(folder / "b.sock")
        assert Gateway.find(control=str(folder / "a.sock")).path == folder / "a.sock"


def test_it_does_what_it_is_asked(gateways: Running) -> None:
    gateway, there = Gateway.find(), gateways.gateways["a"]
    gateway.send("cab.tx", "hello")
    gateway.send("cab.tx", b"\x00", 3)
    gateway.set("cab.rx", channel=7)
    assert there.robots["cab"].receivers["rx"].receiver.getChannel() == 7
    gateway.place("cab", [1, 2, 3])
    assert gateway.pose("cab") == ((1, 2, 3), ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    gateway.place("cab", None)
    assert gateway.pose("cab") is None
    assert gateway.disarm() == ["cab", "bus"]
    assert gateways.armed() == set()
    assert gateway.arm("bus").robots == ["bus"]
    assert gateways.armed() == {"a.bus"}
    assert gateway.disarm("bus") == ["bus"]
    assert gateway.mode("cab").mode == "simulation"
    assert gateway.report()["robots"].keys() == {"cab", "bus"}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda g: g.send("cab.t", "x"), "no station 'cab.t' here; did you mean 'cab.tx'?"),
        (lambda g: g.set("cb.rx", channel=1), "no device 'cb.rx' here; did you mean 'cab.rx'?"),
        (lambda g: g.place("caab", None), "no object 'caab' here; did you mean 'cab'?"),
        (lambda g: g.pose("caab"), "no object 'caab' here; did you mean 'cab'?"),
        (lambda g: g.arm("caab"), "no robot 'caab' with a control loop here; did you mean 'cab'?"),
        (lambda g: g.disarm("caab"), "no robot 'caab' with a control loop here; did you mean 'cab"),
        (lambda g: g.mode("buss"), "no robot 'buss' with a control loop here; did you mean 'bus'?"),
        (lambda g: g.key("buss", [65]), "did you mean 'bus'?"),
        (lambda g: g.say("buss", ""), "did you mean 'bus'?"),
        (lambda g: g.charge("buss", 1), "did you mean 'bus'?"),
        (lambda g: g.command("radoi", "FFFE", "NI"), "no station 'radoi' with hardware here"),
        (lambda g: next(g.events(names=["caab"])), "name 'caab'; did you mean 'cab'?"),
        (lambda g: g.mode("cab", "fly"), "mode must be null, or one of simulation, remote"),
        (lambda g: g.values("cab.gps"), "no end; give count or seconds"),
    ],
)
def test_an_error_has_its_fix(
    gateways: Running, ask: Callable[[Gateway], object], words: str
) -> None:
    with pytest.raises(HilgwError) as found:
        ask(Gateway.find())
    assert words in str(found.value)


class Reporting:
    """Reports values of a sensor to the next one who subscribes, however late."""

    def __init__(self, gateways: Running, *values: Any) -> None:
        self._observer, self._values = gateways.gateways["a"].observer, values
        self._over, self._loop = threading.Event(), gateways.loop

    def __enter__(self) -> None:
        wait_until(lambda: self._observer.sensor_value is None, what="the last one to go")
        self._thread = threading.Thread(target=self._report)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _report(self) -> None:
        while not self._over.wait(0.001):
            if (report := self._observer.sensor_value) is not None:
                for value in self._values:
                    event = ValueEvent("cab", "gps", value, 0)
                    self._loop.call_soon_threadsafe(report, event)
                return


def test_values_are_arrays(gateways: Running) -> None:
    gateway = Gateway.find()
    with Reporting(gateways, (1.0, 2.0, float("nan")), (3.0, 4.0, 5.0)):
        found = gateway.values("cab.gps", count=2, seconds=DEADLINE_S)
    assert [list(row) for row in found.values[1:]] == [[3, 4, 5]]
    assert len(found.times) == 2 and found.times.typecode == "d"
    with Reporting(gateways, 1, float("inf")):
        assert list(gateway.values("cab.gps", count=2, seconds=DEADLINE_S).values) == [
            1,
            float("inf"),
        ]
    empty = gateway.values("cab.gps", seconds=0.01)
    assert (list(empty.times), list(empty.values)) == ([], [])


def test_an_event_is_printed_in_words(gateways: Running) -> None:
    with Reporting(gateways, (1.0, 2.0, 3.5)):
        event = next(Gateway.find().events(["value"], ["cab.gps"]))
    assert str(event) == "cab.gps: [0] 1 [1] 2 [2] 3.5"
    assert event["value"] == [1.0, 2.0, 3.5]


@pytest.mark.parametrize(("version", "word"), [({}, "no version"), ({"version": 3}, "version 3")])
def test_a_gateway_of_another_version_is_refused(
    folder: Path, version: dict[str, int], word: str
) -> None:
    def answer(request: dict[str, Any]) -> bytes:
        if request["do"] == "identify":  # which it refuses
            return json.dumps({"error": "", "config": "/a.yaml", **version}).encode() + b"\n"
        return json.dumps({"ok": True, "robots": ["cab"], **version}).encode() + b"\n"

    with peer(folder / "a.sock", answer):
        for ask in (lambda g: g.send("a", "b"), lambda g: g.arm(), lambda g: next(g.events())):
            with pytest.raises(PeerError, match=f"gateway speaks {word} .*client version 2"):
                ask(Gateway.find())
        assert Gateway.find().disarm() == ["cab"] == disarm() == disarm(config="a")


def test_a_client_of_the_first_version_stops_the_robots(folder: Path, gateways: Running) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(DEADLINE_S)
        client.connect(str(folder / "a.sock"))
        client.sendall(b'{"do": "arm", "all": true}\n')
        assert json.loads(client.recv(65536))["client_version"] is None
        client.sendall(b'{"do":"disarm","all":true}\n')
        assert json.loads(client.recv(65536))["robots"] == ["cab", "bus"]
    assert gateways.armed() == set()


def test_a_program_that_is_only_watched_is_not_a_gateway(folder: Path, gateways: Running) -> None:
    """Its socket is neither asked to disarm nor makes a command ambiguous."""
    with peer(folder / "7.look", lambda _: b"") as asked:
        Gateway.find().send("cab.tx", "hello")
        assert disarm() == ["cab", "bus"]
        assert len(Gateway.find_all()) == 1
    assert asked == []


@pytest.mark.process
def test_it_loads_no_more_than_a_small_board_has() -> None:
    code = "import sys, hilgw.client; print(*{'asyncio', 'pydantic', 'numpy'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "\n"
