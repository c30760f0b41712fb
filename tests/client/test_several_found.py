"""Commands for one name, where several gateways run: the only gateway that has it gets them."""

import json
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.client import arming, control_socket, gateway
from hilgw.client.gateway import gateway_with
from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import PeerError, UsageError
from hilgw.testing.sim import DEADLINE_S
from tests.client.several import frozen, killed, peer, running, with_robots

STEPPED = """
version: 1
backend: mock
robots: {rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1"}}}
adapters: {radio: {kind: uart, port: ./none, framing: slip}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control folder. A busy machine makes no gateway silent."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(control_socket, "ASK_ALL_S", DEADLINE_S)
    return control_folder()


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
        found = json.loads(capsys.readouterr().out)
        assert (
            found["gateway"] == f"/b.yaml at {folder}/b.sock" == gateway_with("robot", "bus").label
        )
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


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("garbage", [b"", b"{", b'{"error": "unknown request"}\n', b'{"found": 1}'])
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


def test_a_silent_gateway_is_named_beside_two_that_have_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with frozen(folder / "c.sock"), running(folder, a=with_robots("cab"), b=with_robots("cab")):
        with pytest.raises(UsageError, match=r"/a\.yaml.*/b\.yaml.*no answer.*c\.sock"):
            monkeypatch.setattr(gateway, "ask", asked_frozen_no_longer(folder))
            arming.arm("cab")


def asked_frozen_no_longer(folder: Path) -> object:
    """`ask` without the wait for the frozen gateway."""

    ask_it = gateway.ask

    def ask(path: Path, *request: object) -> object:
        if path == folder / "c.sock":
            raise PeerError("the gateway does not answer")
        return ask_it(path, *request)  # type: ignore[arg-type]

    return ask


def test_the_wait_for_a_frozen_gateway_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "ASK_ALL_S", 0.05)
    with frozen(folder / "a.sock"), frozen(folder / "b.sock"):
        with pytest.raises(PeerError, match=r"no answer whether.*a\.sock.*b\.sock; nothing was"):
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
