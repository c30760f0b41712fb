"""docs/webots.md, two-xbees.md, and the pages of the plug-in and the proxy, run as by a reader."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
import yaml

import hilgw
from hilgw.cli.main import main
from hilgw.security.access import write_token
from hilgw.testing.sim import wait_until
from tests.docs.reading import blocks, pages
from tests.e2e.plugin_host import VELOCITY, Built, PluginHost
from tests.e2e.running import COMMAND, ROOT, Gateway, patient, report_of, run, run_program, start

PAGE = pages("webots", "webots-connect")
API = Path(hilgw.__file__).parent / "api" / "path"


def command(start: str) -> list[str]:
    """The words of the only command of the page that begins so, after `hilgw`."""
    [line] = re.findall(rf"^    hilgw ({start})$", PAGE, re.MULTILINE)
    return shlex.split(line)


@contextmanager
def running(words: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = start(folder, *COMMAND, *words, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """The first group in the first line of output that matches."""
    for line in process.stdout:
        if match := re.search(pattern, line):
            return match[1]
    raise AssertionError(f"the program ended without {pattern!r}")


@pytest.mark.process
def test_from_a_world_to_a_packet_on_an_xbee(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(blocks("yaml", PAGE)[0].replace(":1234", ":0"))
    (tmp_path / "brain.py").write_text(blocks("python", PAGE)[0])
    [line] = re.findall(r"^    (WEBOTS_CONTROLLER_URL=tcp:\S+) python3 brain.py$", PAGE, re.M)
    with running(command("mock xbee.*"), tmp_path) as mock:
        wait_for(mock, "(lab-xbee)")
        with running(command("--config lab.yaml") + patient("rover"), tmp_path) as gateway:
            port = wait_for(gateway, r"rover.controller waiting: listening on 127.0.0.1:(\d+)")
            wait_for(gateway, "xbee0 +(up)")
            assert run_brain(tmp_path, line.replace(":1234", f":{port}")) == "b'pong 1'\n"


def run_brain(folder: Path, address: str) -> str:
    """What brain.py prints. address: NAME=VALUE of the environment."""
    name, url = address.split("=", 1)
    given = {name: url, "PYTHONPATH": str(API)}
    brain = run_program(sys.executable, "brain.py", cwd=folder, **given)
    assert brain.returncode == 0, brain.stderr
    return brain.stdout


@pytest.mark.process
def test_a_controller_of_another_host_has_a_token_and_tls(tmp_path: Path) -> None:
    """Both ways of the page, on the addresses of this machine."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued = authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem
    issued.write_to_path(tmp_path / "gateway.pem")
    (tmp_path / "gateway.pem").chmod(0o600)
    token = write_token(tmp_path / "lab.token")
    (tmp_path / "brain.py").write_text("from controller import Robot; print(Robot().step(32))")
    [plain] = re.findall(r'^    WEBOTS_CONTROLLER_URL="(tcp:\S+)\$\(cat lab.token\)"$', PAGE, re.M)
    [tls] = re.findall(r"With `(tls: \{.*?\})` in the place of `(?:plaintext: true)`", PAGE)
    secure = shlex.split(command("exec --url tls.*")[2])[0]
    access = blocks("yaml", PAGE)[-1]
    robot = "version: 1\nrobots: {rover: {controller: {kind: webots, listen: 'tcp://0.0.0.0:0'}}}\n"
    for text, url in ((access, plain + token), (access.replace("plaintext: true", tls), secure)):
        (tmp_path / "lab.yaml").write_text(robot + text)
        with running(["--config", "lab.yaml", *patient("rover")], tmp_path) as gateway:
            port = wait_for(gateway, r"rover.controller waiting: listening on 0.0.0.0:(\d+)")
            words = ("exec", "--url", url.replace("HOST:1234", f"127.0.0.1:{port}"), "brain.py")
            done = run(*words, cwd=tmp_path, HILGW_CA="ca.pem", HILGW_TOKEN=token)
            assert (done.stdout, done.stderr) == ("0\n", "")


XBEES_PAGE = pages("two-xbees")
XBEE_FILES = dict(re.findall(r"```yaml file=(\S+)\n(.*?)```", XBEES_PAGE, re.S))
XBEE_COMMANDS = [shlex.split(line) for line in re.findall(r"^    hilgw (.*)$", XBEES_PAGE, re.M)]


@pytest.mark.process
def test_both_gateways_receive_the_other(tmp_path: Path) -> None:
    mock, rover, base, send = XBEE_COMMANDS
    with Gateway(tmp_path, mock) as air:
        wait_until(lambda: "xbee-b" in air.text(), what="the mocks")
        rover_folder, base_folder = (folder(tmp_path, name) for name in ("rover", "base"))
        with Gateway(base_folder, base) as station, Gateway(rover_folder, rover) as robot:
            (example,) = blocks("text", XBEES_PAGE)
            _, *words = example.replace("ping 3", "ping N").split()
            shown = re.compile(r" +".join(map(re.escape, words)).replace("N", r"\d+"))
            wait_until(lambda: shown.search(station.text()) is not None, what=example)
            assert run(*send, cwd=base_folder).returncode == 0
            there = re.compile(r'xbee_a +ch 12 +"turn left" 9 B .* -> rover.rx')
            wait_until(lambda: there.search(robot.text()) is not None, what="turn left")


def folder(parent: Path, name: str) -> Path:
    """Each gateway has a folder of its own, with its file."""
    made = parent / name
    made.mkdir()
    text = XBEE_FILES[f"{name}.yaml"].replace("port: ./", f"port: {parent}/")
    (made / f"{name}.yaml").write_text(text)
    return made


@pytest.mark.process
def test_ones_own_controller_meets_a_mocked_xbee(tmp_path: Path) -> None:
    (tmp_path / "brain.py").write_text(blocks("python", PAGE)[0])
    words = command("--config configs/\\S+ --set .*")
    words += ["--set", "robots.rover.controller.listen=tcp://127.0.0.1:0", *patient("rover")]
    with running(words, ROOT) as gateway:
        port = wait_for(gateway, r"rover.controller waiting: listening on 127.0.0.1:(\d+)")
        wait_for(gateway, "xbee0 +(up)")
        address = f"WEBOTS_CONTROLLER_URL=tcp://127.0.0.1:{port}/rover"
        assert run_brain(tmp_path, address) == "b'pong 1'\n"


@pytest.mark.process
def test_two_robots_over_two_modules(tmp_path: Path) -> None:
    """Each packet leaves by one module and comes back by the other, on mocks."""
    [text] = re.findall(r"```yaml file=two-robots.yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "two-robots.yaml").write_text(text.replace(":1234", ":0"))
    words = ["--config", "two-robots.yaml", *patient("rover"), *patient("mate")]
    with running(words, tmp_path) as process:
        assert wait_for(process, r'rover\.tx .*"ping" .* -> (\w+)') == "xbee_a"
        by_air = wait_for(process, r'xbee_b .*"ping" .* -> (.*)')
        assert "mate.rx" in by_air and "rover.rx" not in by_air.partition(";")[0]
        assert "rover.rx" in wait_for(process, r'xbee_b .*"pong" .* -> (.*)')


WEBOTS_PLUGIN_PAGE = pages("webots-plugin")
DEVICES = {"left wheel motor": "RotationalMotor", "left wheel sensor": "PositionSensor"}
(CONFIG,) = blocks("yaml", WEBOTS_PLUGIN_PAGE)
COMMANDS = re.findall(r"^    ((?:make|hilgw) .*)$", WEBOTS_PLUGIN_PAGE, re.MULTILINE)

DECLARATIONS = """
#include <stddef.h>
#include <string.h>
enum { WB_MODE_SIMULATION, WB_MODE_CROSS_COMPILATION, WB_MODE_REMOTE_CONTROL };
const char *wb_robot_wwi_receive_text(void);
int wb_robot_get_mode(void);
void wb_robot_set_mode(int mode, const char *argument);
"""


@pytest.mark.process
@pytest.mark.judge("gcc")
def test_its_c_code_compiles(tmp_path: Path) -> None:
    (code,) = blocks("c", WEBOTS_PLUGIN_PAGE)
    (tmp_path / "code.c").write_text(DECLARATIONS + f"void poll_window(void) {{\n{code}}}\n")
    done = run_program("gcc", "-fsyntax-only", "-Wall", "-Werror", "code.c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.process
@pytest.mark.judge("gcc", "make")
def test_from_make_to_the_moving_robot(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("d")
    built = Built(folder)
    make, mock, begin = COMMANDS
    words = make.replace("/usr/local/webots", str(folder / "webots")).replace("$HOME", str(folder))
    done = run_program(*shlex.split(words), f"OUT={folder}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (place,) = re.findall(r"`my_project(/plugins/\S+\.so)`", WEBOTS_PLUGIN_PAGE)
    built.plugin = Path(f"{folder}/my_project{place}")
    assert built.plugin.is_file()
    (folder / "robot.yaml").write_text(CONFIG)
    robot = start(folder, *COMMAND, *shlex.split(mock)[1:], stdout=subprocess.DEVNULL)
    try:
        wait_until((folder / "create2").exists, what="the mock")
        keys = ("safety.command_timeout_s", "safety.late_s", "body.silence_s")
        more = [f"--set=robots.create.{key}=20" for key in keys]
        more.append("--set=robots.create.body.simulated=true")
        with (
            Gateway(folder, [*shlex.split(begin)[1:], *more]) as gateway,
            PluginHost(built, folder, "create", DEVICES) as host,
        ):
            wait_until(lambda: "create.body  up" in gateway.text(), what="the robot")
            host.emit("target 1 inf")
            assert host.start(), host.text()
            host.motor(VELOCITY, "left wheel motor", 3.0)
            host.enable("left wheel sensor")
            wait_until(lambda: host.step_until("left wheel sensor")[0] > 0.2, what="the wheel")
            host.ask("stop")
            wait_until(lambda: "motors stopped" in gateway.text(), what="the stop")
    finally:
        robot.terminate()
        robot.wait()


WEBOTS_PROXY_PAGE = pages("webots-proxy")
SHIPPED = yaml.safe_load((ROOT / "configs" / "webots-proxy.yaml").read_text())


def block(kind: str) -> str:
    (text,) = blocks(kind, WEBOTS_PROXY_PAGE)
    return "\n".join(line.removeprefix("   ") for line in text.splitlines())


def test_the_world_has_the_devices_of_the_configuration() -> None:
    world = block("vrml")
    for name, fields in SHIPPED["robots"]["rover"]["devices"].items():
        assert f'{fields["node"]} {{ name "{name}" channel {fields["channel"]} }}' in world
    assert 'name "rover"' in world and 'controller "<extern>"' in world


@pytest.mark.process
def test_the_commands_it_shows(tmp_path: Path) -> None:
    commands = re.findall(r"^ +hilgw (.*)$", WEBOTS_PROXY_PAGE, re.MULTILINE)
    first, second = (each.split() for each in commands)
    assert second == [*first[:2], "--backend", "real"]  # needs Webots and a module
    first[1] = str(ROOT / first[1])
    report = report_of(tmp_path, *first)
    assert report["proxies"]["rover"]["packets_out"] > 0
    assert report["proxies"]["rover"]["packets_in"] > 0
    (url,) = re.findall(r"WEBOTS_CONTROLLER_URL=(\S+)/rover", WEBOTS_PROXY_PAGE)
    assert url == SHIPPED["robots"]["rover"]["controller"]["listen"]


@pytest.mark.parametrize(
    ("page", "config", "parts"),
    [
        ("webots-proxy", "webots-proxy", ["rover.controller", "rover.webots"]),
        ("webots-gateway-robot", "webots", ["gateway.body"]),
    ],
)
def test_only_the_module_is_a_mock(
    page: str, config: str, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (given,) = re.findall(r"`--set '(real=.*?)'`", (ROOT / f"docs/{page}.md").read_text())
    assert yaml.safe_load(given.removeprefix("real=")) == parts
    assert main(["explain", str(ROOT / f"configs/{config}.yaml"), "--set", given]) == 0
    shown = capsys.readouterr().out
    assert "mock xbee" in shown and "mock webots_simulator" not in shown


GATEWAY_PAGE = pages("webots-gateway-robot")
WEBOTS_PROXY_CONFIG = (ROOT / "configs" / "webots.yaml").read_text()
GATEWAY = yaml.safe_load(WEBOTS_PROXY_CONFIG)["robots"]["gateway"]


def test_the_world_lines_are_those_of_the_configuration_and_fit_it() -> None:
    lines = blocks("wbt", GATEWAY_PAGE)[0]
    commented = "".join(f"#   {line}\n" for line in lines.splitlines())
    assert commented in WEBOTS_PROXY_CONFIG
    body = GATEWAY["body"]
    for own in (body["robot"], *body["to_medium"], *body["from_medium"]):
        assert f'name "{own}"' in lines


def test_the_settings_on_the_page_are_accepted() -> None:
    shown = yaml.safe_load(blocks("yaml", GATEWAY_PAGE)[0])["robots"]["gateway"]
    shipped = {key: each for key, each in GATEWAY["body"].items() if key != "mock"}
    assert shown == {**GATEWAY, "body": shipped}


@pytest.mark.process
def test_the_command_of_the_page_runs() -> None:
    (line,) = blocks("sh", GATEWAY_PAGE)[0].splitlines()
    done = run(*line.split()[1:], cwd=ROOT)
    assert done.returncode == 0 and '"pong' in done.stdout, done.stdout + done.stderr
