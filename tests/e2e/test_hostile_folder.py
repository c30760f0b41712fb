"""Every command in a folder whose files have the names of modules: none of them is imported."""

import importlib.metadata
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from hilgw.cli.groups import COMMANDS
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.running import HOST, free_port, run_program, start
from tests.e2e.test_first_check import STARTS, Terminal

MODULE = [sys.executable, "-u", "-m", "hilgw"]  # -u: no fork of a process that has imported hilgw
SCRIPT = [str(Path(sys.executable).with_name("hilgw"))]
# What `python -m hilgw` does, for each argument: the folder comes first in the path of modules.
ONE_BY_ONE = [
    *(sys.executable, "-c"),
    """
import sys
del sys.path[0]
import json, os, runpy
for line in sys.argv[1:]:
    sys.argv = ["hilgw", *line.split()]
    sys.path.insert(0, os.getcwd())
    try:
        runpy.run_module("hilgw", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        print(json.dumps([line, end.code or 0]), file=sys.stderr)
""",
]
MARK = "imported.txt"
HOSTILE = """
with open({mark!r}, "a") as file:
    file.write(__name__ + "\\n")
raise SystemExit("imported " + __name__)
"""
CONFIG = """
version: 1
backend: mock
robots:
  rover:
    position: [0, 0, 0]
    devices: {tx: {node: Emitter, type: radio, channel: 3}}
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", mock: {dialect: full}}
    controller: {kind: python, file: brains/brain.py}
  drone:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27016", mock: {dialect: full}}
    controller: {kind: webots, ipc: true, backend: real}
  twin:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27017", mock: {dialect: full}}
    remote: {kind: wc2ec, connect: "tcp://127.0.0.1:27018", mock: {dialect: full}}
    controller: {kind: webots, ipc: true}
adapters:
  xbee0: {kind: xbee, port: /dev/ttyUSB0, baudRate: 9600, channel: 12, pan_id: 0x3332}
"""
# The program has a module of its own, and one with the name of a module of Python.
BRAIN = """
import sys
import colorsys, helper
from controller import Robot
robot = Robot()
with open(f"{__file__}.{robot.getName()}", "w") as file:
    file.write(helper.__file__ + " " + colorsys.__file__)
while robot.step(32) != -1 and "--once" not in sys.argv:
    pass
"""
WORLD = """#VRML_SIM R2025a utf8
Robot { name "rover" controller "brain" children [ Emitter {} ] }
"""
BESIDE: dict[str, int | None] = {  # commands beside a gateway, with their exit codes
    "status": 0,
    "metrics": 0,
    "send rover.tx hello": 0,
    "place rover 1 0 0": 0,
    "set rover.tx --channel 4": 0,
    "mode twin": 0,
    "key rover up": 1,  # the program reads no keyboard
    "say rover hello": 0,
    "disarm --all": 0,
    "arm rover": 0,
    "record more": 0,
    "note turned": 0,
    "release xbee0 -- true": 1,  # a mock
    "exec --robot drone robot.yaml brains/brain.py --once": 0,
}
ALONE: dict[str, int | None] = {
    "explain robot.yaml": 0,
    "mocap-send 127.0.0.1:9763 --circle rover --duration 0.1": 0,
    "doctor --json": None,
    "ports": 0,
    "scan /dev/null": 4,  # no serial port
    "adapters xbee": 0,
    "check robot.yaml": 0,
    "example xbee": 0,
    "schema": 0,
    "import-world arena.wbt": 0,
    "new-adapter buzz --type serial --into adapter": 0,
    "new-body trolley --into body": 0,
    "token lab.token": 0,
    "completion bash": 0,
    "show run.pcapng": 0,
    "plot run.pcapng --output run.svg": 0,
    "diff run.pcapng run.pcapng": 0,
    "twin run.pcapng --output twin.svg": 1,  # no packet came in again
    "convert run.pcapng csv": 0,
    "capture2test run.pcapng --output test_of_run.py": 3,  # a local socket has no speed
}
RUN = "run robot.yaml --arm --record run.pcapng --ready-file ready"
WATCH = "watch rover"
MOCK = "mock xbee --link link --ready-file ready"
BRIDGE = f"bridge link --listen {HOST}:0 --ready-file ready"
WEB = f"web --host {HOST} --port PORT"


class Folder:
    """The folder of a user, with his configuration and his programs."""

    def __init__(self, path: Path) -> None:
        self.path, self.brains = path, path / "brains"
        modules = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions()}
        for name in modules - {"hilgw"}:
            (path / f"{name}.py").write_text(HOSTILE.format(mark=str(path / MARK)))
        self.brains.mkdir()
        for name, text in (("brain", BRAIN), ("helper", ""), ("colorsys", "")):
            (self.brains / f"{name}.py").write_text(text)
        (path / "robot.yaml").write_text(CONFIG)
        (path / "arena.wbt").write_text(WORLD)

    def imported(self) -> list[str]:
        mark = self.path / MARK
        return mark.read_text().split() if mark.exists() else []

    def run(self, lines: dict[str, int | None]) -> None:
        """Run commands that end by themselves, one after the other in one process. lines: with
        their exit codes; None for one that depends on the machine."""
        done = run_program(*ONE_BY_ONE, *lines, cwd=self.path)
        codes = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
        assert self.imported() == [], done.stderr
        if len(codes) < len(lines):  # `exec` replaces this process
            codes.append([list(lines)[len(codes)], done.returncode])
        wanted = [[line, code] for line, code in lines.items() if code is not None]
        assert [each for each in codes if lines[each[0]] is not None] == wanted, done.stderr

    @contextmanager
    def running(self, line: str, command: list[str] = MODULE) -> Iterator[subprocess.Popen[str]]:
        """Runs a command that a signal ends; waits until it is ready, where it writes that."""
        (self.path / "ready").unlink(missing_ok=True)
        words = (*command, *line.split())
        process = start(self.path, *words, stdout=subprocess.PIPE, text=True)
        try:
            if "ready" in line:
                wait_until((self.path / "ready").exists, what=line)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=DEADLINE_S)
        assert (self.imported(), process.returncode) == ([], 130), line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path: Path = tmp_path_factory.mktemp("hostile")
    return Folder(path)


def test_the_lists_have_all_commands() -> None:
    lines = [*BESIDE, *ALONE, RUN, WATCH, MOCK, BRIDGE, WEB]
    assert {line.split()[0] for line in lines} == {*COMMANDS}


def test_a_gateway_commands_beside_it_and_programs_have_their_own_modules(folder: Folder) -> None:
    with folder.running(RUN):
        wait_until((folder.brains / "brain.py.rover").exists)
        with folder.running(WATCH) as watch:
            assert watch.stdout.readline()
        folder.run(BESIDE)
    for robot in ("rover", "drone"):
        paths = (folder.brains / f"brain.py.{robot}").read_text()
        assert paths == f"{folder.brains}/helper.py {folder.brains}/colorsys.py"
    folder.run(ALONE)


def test_a_mock_and_a_bridge(folder: Folder) -> None:
    with folder.running(MOCK), folder.running(BRIDGE):
        assert (folder.path / "ready").exists()


def test_the_page_and_its_stop_server(folder: Folder) -> None:
    """By the script, which has no folder in front of its path."""
    port = free_port()
    with folder.running(WEB.replace("PORT", str(port)), SCRIPT) as web:
        assert web.stdout.readline().startswith(f"http://{HOST}:{port}/")
        for number, text in ((port, "Overview"), (port + 1, "STOP ALL")):
            with urlopen(f"http://{HOST}:{number}/", timeout=DEADLINE_S) as answer:
                assert text in answer.read().decode()


def test_the_gateway_of_the_first_check(folder: Folder) -> None:
    call = ["doctor", "--config", "robot.yaml", "rover", "--wheels-up"]
    with Terminal(folder.path, *call) as terminal:
        terminal.see(STARTS)
    assert folder.imported() == []
