"""`hilgw.client.Gateway` and the control socket: which gateway is found, and answers that fail."""

import json
import os
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
from hilgw.client.connection import ask
from hilgw.client.control_paths import live_sockets
from hilgw.client.control_socket import find_gateway
from hilgw.engine.control_socket.listener import control_folder
from hilgw.engine.observer import ValueEvent
from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.protocols.gateway import messages
from hilgw.protocols.gateway.messages import ANSWER_BYTES, LINE_BYTES
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.client.several import Running, frozen, killed, peer, running, with_robots


@pytest.fixture
def gateways(folder: Path) -> Iterator[Running]:
    with running(folder, a=with_robots("cab", "bus")) as started:
        yield started


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
    with pytest.raises(HilgwError) as error:
        ask(Gateway.find())
    assert words in str(error.value)


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
        values = gateway.values("cab.gps", count=2, seconds=DEADLINE_S)
    assert [list(row) for row in values.values[1:]] == [[3, 4, 5]]
    assert len(values.times) == 2 and values.times.typecode == "d"
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_the_only_running_gateway_is_found(folder: Path) -> None:
    assert find_gateway("./own") == Path("own")
    with pytest.raises(PeerError, match="no gateway of yours is running"):
        find_gateway(None)
    (folder / "no_number.sock").touch()
    (folder / f"{os.getpid()}.sock").touch()  # a process has this number, and no socket
    # Of a container: no process has this number.
    with frozen(folder / "999999999.sock"), socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "1.sock"))
        assert find_gateway(None) == folder / "999999999.sock"
        other.listen()
        with pytest.raises(UsageError, match="several gateways are running"):
            find_gateway(None)


def test_a_refusal_is_read_although_the_request_was_not(tmp_path: Path) -> None:
    with frozen(tmp_path / "full") as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.send(b'{"error": "full", "version": 2}\n')

        thread = threading.Thread(target=refuse)
        thread.start()
        assert ask(tmp_path / "full", {"do": "x" * 1_000_000}) == {"error": "full"}
        thread.join(10)


def answered(path: Path, answer: bytes) -> object:
    """Ask a gateway there that answers with these bytes, and closes."""
    with peer(path, lambda _: answer):
        return ask(path, {})


def test_an_answer_in_pieces_is_put_together(tmp_path: Path) -> None:
    text = "x" * (2 * LINE_BYTES)  # of many robots
    answer = b'{"ok": "%s", "version": 2}\n' % text.encode()
    assert answered(tmp_path / "control", answer) == {"ok": text}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "does not answer"),
        (b"{", "does not answer"),
        (b"x" * (ANSWER_BYTES + 1), "does not answer"),
        (b"[]\n", "invalid answer"),
    ],
)
def test_an_invalid_answer_is_an_error(answer: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=message):
        answered(tmp_path / "control", answer)


def test_a_gateway_that_is_gone_or_hangs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="does not answer"):
        ask(tmp_path / "none", {})
    with frozen(tmp_path / "hangs"), pytest.raises(PeerError, match="does not answer"):
        ask(tmp_path / "hangs", {}, timeout_s=0.1)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces /tmp; XDG_RUNTIME_DIR is not set."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(messages, "SHARED", tmp_path)
    return tmp_path


def test_the_folder_is_private_or_refused(shared: Path) -> None:
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    for find in (control_folder, live_sockets):
        with pytest.raises(HilgwError, match="not a private folder"):
            find()


Owned = Callable[[dict[Path, int]], None]


def test_a_runtime_folder_of_another_user_is_passed_by(
    shared: Path, owned_by: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = shared / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    owned_by({runtime: os.getuid() + 1})
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert not list(runtime.iterdir())  # a root of that user's session leaves nothing in it
    with frozen(folder / "1.sock"):
        assert live_sockets() == [folder / "1.sock"]


def test_beside_a_shared_folder_of_another_user_a_new_one_is_made_and_found(
    shared: Path, owned_by: Owned
) -> None:
    taken = shared / f"hilgw-{os.getuid()}"
    taken.mkdir(mode=0o755)
    owned_by({taken: os.getuid() + 1})
    assert live_sockets() == []
    assert list(shared.iterdir()) == [taken]  # a client makes no folder
    folder = control_folder()
    assert folder.name.startswith(f"hilgw-{os.getuid()}-")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert control_folder() == folder
    with frozen(folder / "1.sock"):
        assert live_sockets() == [folder / "1.sock"]


def test_no_folder_at_all_is_an_error(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared / "file").touch()
    monkeypatch.setattr(messages, "SHARED", shared / "file")
    with pytest.raises(HilgwError, match="cannot make a private folder"):
        control_folder()


def test_a_socket_is_live_while_a_program_listens(shared: Path) -> None:
    folder = control_folder()
    killed(folder / "dead.sock")
    (folder / "file.sock").touch()
    with frozen(folder / "full.sock") as full, frozen(folder / "live.sock"):
        full.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(folder / "full.sock"))
            assert live_sockets() == [folder / "full.sock", folder / "live.sock"]
