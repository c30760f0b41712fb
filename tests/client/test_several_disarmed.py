"""`hilgw disarm` where several gateways run: all are asked at once, each that fails is named."""

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
from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import HilgwError, PeerError
from hilgw.testing.sim import DEADLINE_S
from tests.client.several import Running, frozen, killed, peer, running, with_robots

NOT_CONFIRMED = "stop NOT confirmed"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control folder. A busy machine makes no gateway silent."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert arming.ASK_ALL_S == 1.0
    limit_answers(monkeypatch, DEADLINE_S)
    return control_folder()


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


def test_all_robots_of_all_gateways_are_disarmed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robots = {"a": with_robots("cab"), "b": with_robots("bus", "cab"), "none": "version: 1"}
    with running(folder, **robots) as gateways:
        assert main(["disarm", "--all"]) == 0
        assert not gateways.armed()
    assert capsys.readouterr().out.count(": disarmed (gateway /") == 3


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


def test_the_stop_is_the_first_message(folder: Path) -> None:
    def answer(request: dict[str, object]) -> bytes:
        return json.dumps({"ok": True, "robots": request.get("robots", ["bus"])}).encode() + b"\n"

    with peer(folder / "a.sock", answer) as first, peer(folder / "b.sock", answer) as second:
        assert main(["disarm", "cab"]) == 0
        assert main(["disarm", "--all"]) == 0
    asked = [{"do": "disarm", "robots": ["cab"]}, {"do": "disarm", "all": True}]
    assert first == second == asked


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
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
                waiting.connect(str(folder / "full.sock"))
                assert main(["disarm", "cab"]) == 5
            assert main(["disarm", "cab", "--config", "one"]) == 5
            never.set()
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 6
    for line, name in zip(errors, ["a", "c", "full"] * 2, strict=True):
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
