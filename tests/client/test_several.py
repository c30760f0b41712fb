"""Several gateways: a stop goes to all at once, a command to the only one that has the name."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.client import arming, control_socket
from hilgw.client.gateway import gateway_with
from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.testing.sim import DEADLINE_S
from tests.client.several import Running, frozen, killed, peer, running, with_robots

NOT_CONFIRMED = "stop NOT confirmed"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes no gateway silent."""
    assert arming.ASK_ALL_S == 1.0
    limit_answers(monkeypatch, DEADLINE_S)


def limit_answers(monkeypatch: pytest.MonkeyPatch, limit_s: float) -> None:
    for module in (arming, control_socket):
        monkeypatch.setattr(module, "ASK_ALL_S", limit_s)


class SilentUntilAllStopped:
    """A gateway that answers nothing before all robots of the others have stopped. in_time: whether
    they stopped while it was silent, for each request."""

    def __init__(self) -> None:
        self.in_time: list[bool] = []
        self._stopped = threading.Event()

    def answer(self, request: dict[str, object]) -> bytes:
        self.in_time.append(self._stopped.wait(DEADLINE_S))
        return b""

    @contextmanager
    def watching(self, gateways: Running) -> Iterator[None]:
        def watch() -> None:
            while not self._stopped.wait(0.001):
                if not gateways.armed():
                    self._stopped.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            self._stopped.set()
            watcher.join()


def test_an_unknown_name_is_reported_after_the_others_are_disarmed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(folder, a=with_robots("cab"), b=with_robots("bus")) as gateways:
        assert main(["disarm", "lorry", "bus", "tram", "cab"]) == 1
        assert not gateways.armed()
    printed = capsys.readouterr()
    assert printed.out.count("disarmed") == 2
    lorry, tram = printed.err.splitlines()
    assert "no robot 'lorry' with a control loop here" in lorry and "'tram'" in tram
    assert "/a.yaml at" in lorry and "known here: cab" in lorry and "known here: bus" in lorry


@pytest.mark.parametrize("selected", [[], ["--control", "a.sock"], ["--config", "a"]])
def test_the_only_gateway_disarms_what_it_has_too(
    selected: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    with running(folder, a=with_robots("cab", "bus")) as gateways:
        assert main(["disarm", "lorry", "cab", *selected]) == 1
        assert gateways.armed() == {"a.bus"}
    printed = capsys.readouterr()
    assert printed.out == "cab: disarmed\n"
    assert printed.err.count("\n") == 1 and "no robot 'lorry' with a control loop" in printed.err


def test_an_option_selects_one_gateway(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(folder, a=with_robots("cab"), b=with_robots("cab"), c=with_robots("cab")) as runs:
        assert main(["disarm", "--all", "--control", str(folder / "a.sock")]) == 0
        assert runs.armed() == {"b.cab", "c.cab"}
        assert main(["disarm", "cab", "--config", "/b.yaml"]) == 0
        assert runs.armed() == {"c.cab"}
        assert capsys.readouterr().out == "cab: disarmed\ncab: disarmed\n"
        assert main(["disarm", "cab", "--config", "d"]) == 5
        assert runs.armed() == {"c.cab"}
        assert "no running gateway has the configuration d" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["cab"], ["--all"]])
def test_gateways_that_do_not_answer_are_named_and_delay_no_other(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those before and behind the good ones answer only once the good ones have stopped."""
    silent = SilentUntilAllStopped()
    killed(folder / "2.sock")
    with (
        running(folder, b=with_robots("cab"), y=with_robots("cab")) as gateways,
        peer(folder / "a.sock", silent.answer),
        peer(folder / "z.sock", silent.answer),
        peer(folder / "c.sock", lambda _: b"\0\xff[[[\n"),
        peer(folder / "d.sock", lambda _: b"[" * 100_000 + b"\n"),
        peer(folder / "e.sock", lambda _: b'{"error": "unknown request", "exit_code": 2}\n'),
        peer(folder / "f.sock", lambda _: b'{"ok": true, "robots": "cab"}\n'),
        peer(folder / "g.sock", lambda _: b'{"robots": ["cab"]}\n'),
    ):
        with silent.watching(gateways):
            assert main(["disarm", *words]) == 5
        assert not gateways.armed()
    assert silent.in_time == [True, True]
    printed = capsys.readouterr()
    assert printed.out.count("cab: disarmed (gateway /") == 2
    errors = printed.err.splitlines()
    assert [line.count(NOT_CONFIRMED) for line in errors] == [1] * 8
    for line, name in zip(errors, "2acdefgz", strict=True):
        assert f"{folder}/{name}.sock" in line
    assert "killed" in errors[0]
    assert f"process {os.getpid()}: " in errors[1]
    assert "unknown request" in errors[4]


def test_the_wait_for_a_frozen_gateway_ends(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_answers(monkeypatch, 0.05)
    never = threading.Event()

    def drip(request: dict[str, object]) -> bytes:
        never.wait(DEADLINE_S)
        return b""

    with frozen(folder / "a.sock"), frozen(folder / "full.sock") as full:
        full.listen(0)
        with peer(folder / "c.sock", drip):
            with socket.socket(socket.AF_UNIX) as waiting:
                waiting.connect(str(folder / "full.sock"))
                assert main(["disarm", "cab"]) == 5
            with pytest.raises(PeerError, match=r"no answer whether.*a\.sock.*; nothing was"):
                arming.arm("cab")
            never.set()
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    for line, name in zip(errors, ["a", "c", "full"], strict=True):
        assert NOT_CONFIRMED in line and f"/{name}.sock" in line


def test_a_frozen_gateway_does_not_delay_the_one_that_an_option_selects(folder: Path) -> None:
    silent = SilentUntilAllStopped()
    with running(folder, b=with_robots("cab")) as gateways, peer(folder / "a.sock", silent.answer):
        with silent.watching(gateways):
            assert main(["disarm", "cab", "--config", "b"]) == 0
    assert silent.in_time == [True]


def test_sockets_of_gateways_that_ended_in_order_are_not_missed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["disarm", "--all"]) == 5
    assert "no gateway of yours is running" in capsys.readouterr().err

    def end(request: dict[str, object]) -> bytes:
        (folder / "a.sock").rename(folder / "ended")
        return b""

    with peer(folder / "a.sock", end), running(folder, b=with_robots("cab")):
        try:
            assert main(["disarm", "cab"]) == 0
        finally:
            (folder / "ended").rename(folder / "a.sock")
    assert NOT_CONFIRMED not in capsys.readouterr().err


def test_a_program_disarms_robots_of_all_gateways(folder: Path) -> None:
    with running(folder, a=with_robots("cab"), b=with_robots("cab", "bus")) as gateways:
        assert arming.disarm("cab") == ["cab"]
        assert gateways.armed() == {"b.bus"}
        with pytest.raises(HilgwError, match="lorry"):
            arming.disarm("lorry", "bus")
        assert not gateways.armed()
        assert arming.disarm(control=str(folder / "a.sock")) == ["cab"]
        killed(folder / "c.sock")
        with pytest.raises(PeerError, match=rf"c\.sock: {NOT_CONFIRMED}.*; no robot 'lorry'"):
            arming.disarm("lorry")


def test_none_to_disarm_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(folder, a="version: 1", b="version: 1"):
        assert main(["disarm", "--all"]) == 1
    assert "no robot with a control loop here" in capsys.readouterr().err


STEPPED = """
version: 1
backend: mock
robots: {rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1"}}}
adapters: {radio: {kind: uart, port: ./none, framing: slip}}
"""
UNCONTROLLED = "bus: no controller runs: the configuration has none\n"


@pytest.mark.parametrize(
    ("command", "code", "printed"),
    [
        ("arm bus", 0, "bus: armed (gateway B)"),
        ("mode bus", 0, "bus: simulation (body down) (gateway B)"),
        ("send bus.tx hello", 0, "bus.tx: 5 B queued (gateway B)"),
        ("send radio hello", 0, "radio: 5 B queued (gateway C)"),
        ("set bus.rx --channel 3", 0, "bus.rx: channel 3 (gateway B)"),
        ("set radio --at 0013A2004AB67FB2 D4", 1, "hilgw: C: "),
        ("place bus 1 2 3", 0, "bus: 1, 2, 3 m (gateway B)"),
        ("key rover up", 5, "hilgw: C: rover: no controller is connected"),
        ("say rover hello", 5, "hilgw: C: rover: no controller is connected"),
        ("send bus.tx --hex=", 1, "hilgw: bus.tx (gateway B): refused: invalid"),
    ],
)
def test_the_gateway_that_has_the_name_answers_and_is_named(
    command: str, code: int, printed: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robots = {"a": with_robots("cab"), "b": with_robots("cab", "bus"), "c": STEPPED}
    killed(folder / "dead.sock")
    with running(folder, **robots):
        assert main(command.split()) == code
    shown = "".join(capsys.readouterr()).replace(UNCONTROLLED, "")
    for name in "abc":
        shown = shown.replace(f"/{name}.yaml at {folder}/{name}.sock", name.upper())
    assert shown.startswith(printed) and shown.count("\n") == 1


def test_json_names_the_gateway_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(folder, a=with_robots("cab"), b=with_robots("bus")):
        assert main(["mode", "bus", "--json"]) == 0
        name = json.loads(capsys.readouterr().out)["gateway"]
        assert name == f"/b.yaml at {folder}/b.sock" == gateway_with("robot", "bus").label
        assert main(["mode", "bus", "--json", "--config", "b"]) == 0
        assert "gateway" not in json.loads(capsys.readouterr().out)


COMMANDS = [
    "arm cab",
    "mode cab simulation",
    "send cab.tx hello",
    "set cab.rx --channel 3",
    "set cab --at 0013A2004AB67FB2 D4",
    "place cab 1 2 3",
    "key cab up",
    "say cab hello",
]
GARBAGE = [b"", b"{", b'{"error": "unknown request"}\n', b'{"found": 1}']


@pytest.mark.parametrize("command", [each for each in COMMANDS if "--at" not in each])
def test_a_name_that_two_gateways_have_is_refused(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robots = {"a": with_robots("cab"), "b": with_robots("cab"), "c": with_robots("bus")}
    with running(folder, **robots) as gateways:
        for name in ("a", "b"):
            gateways.gateways[name].control_loops.disarm("cab")
        assert main(command.split()) == 2
        assert gateways.armed() == {"c.bus"}
        for name in ("a", "b"):
            cab = gateways.gateways[name].robots["cab"]
            assert cab.receivers["rx"].receiver.getChannel() == 0
            assert gateways.gateways[name].scene.pose_of("cab") is None
    error = capsys.readouterr().err
    assert "several gateways have the " in error and "--config" in error
    assert "/a.yaml at" in error and "/b.yaml at" in error and "/c.yaml" not in error


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_no_gateway_has_is_an_error(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(folder, a=with_robots("bus"), b=with_robots("van")):
        assert main(command.split()) == 1
    error = capsys.readouterr().err
    assert "no running gateway has the " in error and "'cab" in error
    assert "/a.yaml at" in error and "/b.yaml at" in error
    fixed = "known here: bus" in error or "did you mean 'bus." in error
    assert fixed is ("--at" not in command)


@pytest.mark.parametrize(("command", "garbage"), [*zip(COMMANDS, GARBAGE * 2, strict=True)])
def test_a_gateway_that_does_not_identify_itself_is_named_and_nothing_is_sent(
    command: str, garbage: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        running(folder, a=with_robots("cab")) as gateways,
        peer(folder / "old.sock", lambda _: garbage) as asked,
    ):
        gateways.gateways["a"].control_loops.disarm("cab")
        assert main(command.split()) == 5
        assert [each["do"] for each in asked] == ["find"]
        assert not gateways.armed()
    error = capsys.readouterr().err
    assert f"no answer whether it has the {asked[0]['kind']} 'cab" in error
    assert f"{folder}/old.sock; nothing was sent; name one gateway with --config" in error


def test_a_silent_gateway_is_named_beside_two_that_have_it(folder: Path) -> None:
    silent = peer(folder / "c.sock", lambda _: b"")
    with silent, running(folder, a=with_robots("cab"), b=with_robots("cab")):
        with pytest.raises(UsageError, match=r"/a\.yaml.*/b\.yaml.*no answer.*c\.sock"):
            arming.arm("cab")


def test_robots_of_two_gateways_are_armed_all_or_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(folder, a=with_robots("cab", "van"), b=with_robots("bus", "van")) as gateways:
        for gateway in gateways.gateways.values():
            gateway.control_loops.disarm(*gateway.control_loops)
        for names in ("cab bus van", "cab bus lorry"):
            assert main(["arm", *names.split()]) in (1, 2)
            assert not gateways.armed()
        capsys.readouterr()
        assert main(["arm", "cab", "bus", "cab"]) == 0
        assert gateways.armed() == {"a.cab", "b.bus"}
    cab, bus = capsys.readouterr().out.splitlines()
    assert cab.startswith("cab: armed (gateway /a.yaml") and "bus: armed (gateway /b.yaml" in bus


def test_all_robots_are_armed_in_one_gateway_only(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(folder, a=with_robots("cab"), b=with_robots("bus")) as gateways:
        for name, robot in (("a", "cab"), ("b", "bus")):
            gateways.gateways[name].control_loops.disarm(robot)
        assert main(["arm", "--all"]) == 2
        assert not gateways.armed()
        error = capsys.readouterr().err
        assert "several gateways are running" in error and "/a.yaml at" in error
        with pytest.raises(UsageError, match="several gateways"):
            arming.arm()
        assert main(["arm", "--all", "--config", "b"]) == 0
        assert gateways.armed() == {"b.bus"}
        assert capsys.readouterr().out == "bus: armed\n"
        assert main(["arm", "--all", "--control", str(folder / "a.sock")]) == 0
        assert gateways.armed() == {"a.cab", "b.bus"}


def test_one_that_does_not_answer_is_named_and_hides_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(folder / "K.sock")
    assert main(["status"]) == 5
    assert "no gateway of yours is running" in capsys.readouterr().err
    with (
        running(folder, A=with_robots("bus"), B="version: 1\nrobots: {cab: {}}\n"),
        peer(folder / "C.sock", lambda request: b""),
        peer(
            folder / "D.sock",
            lambda request: b'{"error": "unknown \\u001b request", "version": 2}\n',
        ),
    ):
        assert main(["status"]) == 5
        printed = capsys.readouterr().out
        assert max(map(len, printed.splitlines())) <= 80 + len(str(folder))
        shown = " ".join(printed.split())
        assert f"the gateway does not answer (process {os.getpid()}: " in shown
        assert "bus: armed, body down" in shown
        assert f"{folder}/C.sock: the gateway does not answer" in shown
        assert f"{folder}/D.sock: 'unknown" in shown
        assert "\x1b" not in printed
        assert main(["status", "--json"]) == 5
        names = [Path(each["control"]).name for each in json.loads(capsys.readouterr().out)]
        assert names == ["A.sock", "B.sock", "C.sock", "D.sock"]
        assert main(["status", "-c", "B"]) == 0
        assert main(["metrics"]) == 5
        printed = capsys.readouterr()
        assert 'hilgw_info{config="/A.yaml"' in printed.out
        assert "C.sock: the gateway does not answer" in printed.err


def test_each_gateway_disarms_the_names_that_it_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robots = {"a": with_robots("cab", "bus"), "b": with_robots("cab", "van"), "c": "version: 1"}
    with running(folder, **robots) as gateways:
        assert main(["disarm", "cab", "van"]) == 0
        assert gateways.armed() == {"a.bus"}
    printed = capsys.readouterr()
    at_a, at_b = (f"(gateway /{name}.yaml at {folder}/{name}.sock)" for name in "ab")
    assert printed.out.splitlines() == [
        f"cab: disarmed {at_a}",
        f"cab: disarmed {at_b}",
        f"van: disarmed {at_b}",
    ]
    assert printed.err == ""


def test_the_stop_is_the_first_message(folder: Path) -> None:
    def answer(request: dict[str, object]) -> bytes:
        return json.dumps({"ok": True, "robots": request.get("robots", ["bus"])}).encode() + b"\n"

    with peer(folder / "a.sock", answer) as first, peer(folder / "b.sock", answer) as second:
        assert main(["disarm", "cab"]) == 0
        assert main(["disarm", "--all"]) == 0
    asked = [{"do": "disarm", "robots": ["cab"]}, {"do": "disarm", "all": True}]
    assert first == second == asked
