"""Another distribution's adapter and firmware mock: installed, listed, configured, run, tested."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.running import COMMAND, ROOT, Gateway, environment, run_program

pytestmark = pytest.mark.process

BEEP = (Path(__file__).parent / "beep.py").read_text()

ADAPTER = f"""{BEEP}

ADAPTER = BeepAdapter()
"""

MOCK = '''
"""The stand-in, as `firmware_mocks` describes it."""

from hilgw_beep.adapter import BeepMock

SUMMARY = "an invented radio module"
PARAMETERS = {"baudRate": "rate of its UART", "bits": "a byte takes", "boot_ms": "a start takes"}


def create(name, air, parameters, position=(0.0, 0.0, 0.0)):
    for key, value in parameters.items():
        if key not in PARAMETERS:
            raise ValueError(f"{key}: no such parameter")
        if not isinstance(value, int):
            raise ValueError(f"{key}: {value!r} is no whole number")
    return BeepMock(name, air, parameters, position)
'''

CONFIG = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {node: Emitter, type: radio, channel: 7, baudRate: 38400, byteSize: 10}
      rx: {node: Receiver, type: radio, channel: 7}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 100, payload: "ping {n}"}
  truck:
    devices:
      rx: {node: Receiver, type: radio, channel: 7}
adapters:
  beep0:
    kind: beep
    port: /dev/ttyUSB7
    baudRate: 38400
    channel: 7
    power_dbm: 15
    air: hall
airs:
  hall:
    nodes:
      spare: {mock: beep, link: ./spare, baudRate: 38400}
"""


def wheel(folder: Path) -> Path:
    """A wheel as a build tool would have made it."""
    info = "hilgw_beep-1.0.dist-info"
    files = {
        "hilgw_beep/__init__.py": "",
        "hilgw_beep/adapter.py": ADAPTER,
        "hilgw_beep/mock.py": MOCK,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: hilgw-beep\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": "[hilgw.adapters]\nbeep = hilgw_beep.adapter:ADAPTER\n"
        "[hilgw.mocks]\nbeep = hilgw_beep.mock\nbroken-one = hilgw_beep.missing\n"
        "xbee = hilgw_beep.mock\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{name},sha256={digest.decode()},{len(text.encode())}\n"
    path = folder / "hilgw_beep-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Installed by pip beside hilgw; the PYTHONPATH that has both."""
    folder = tmp_path_factory.mktemp("beep")
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    command = [*pip, "--disable-pip-version-check", "--target", str(target), str(wheel(folder))]
    subprocess.run(command, check=True, timeout=60)
    return f"{target}{os.pathsep}{ROOT}"


@pytest.fixture
def here(tmp_path: Path, installed: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration, where the commands find the distribution."""
    monkeypatch.setattr(
        "tests.e2e.running.environment",
        lambda cwd, **env: environment(cwd, **{"PYTHONPATH": installed, **env}),
    )
    (tmp_path / "beep.yaml").write_text(CONFIG)
    return tmp_path


def test_it_is_listed_and_described(here: Path) -> None:
    listed = run_program(*COMMAND, "adapters", cwd=here)
    assert listed.returncode == 0
    assert "beep   " in listed.stdout.replace("\n", "   ")
    assert "an invented radio module" in listed.stdout
    page = run_program(*COMMAND, "adapters", "beep", cwd=here).stdout
    assert "power_dbm" in page
    assert "exact: a byte in each packet" in page
    schema = json.loads(run_program(*COMMAND, "schema", cwd=here).stdout)
    assert "power_dbm" in json.dumps(schema)


def test_its_mock_is_listed_and_a_broken_one_named(here: Path) -> None:
    listed = run_program(*COMMAND, "mock", "--list", cwd=here)
    assert listed.returncode == 0
    assert "an invented radio module" in listed.stdout
    assert "Digi XBee" in listed.stdout  # ours goes before another of that name
    assert "mock 'broken-one' of hilgw-beep does not load: ModuleNotFoundError" in listed.stderr
    assert "repair or remove hilgw-beep" in listed.stderr
    assert "boot_ms" in run_program(*COMMAND, "mock", "beep", "--list", cwd=here).stdout


WRONG = [
    ("power_dbm: 15", "power_dbm: 25", "25", "adapters.beep0.power_dbm: 25 is out of range"),
    ("power_dbm: 15", "power_dbn: 15", "power_dbn", "power_dbn: unknown key; did you mean"),
    ("kind: beep", "kind: bep", "bep\n", "adapters.beep0.kind: unknown kind 'bep'; did you"),
    ("mock: beep", "mock: beeep", "beeep", "airs.hall.nodes.spare.mock: unknown mock 'beeep'"),
    ("./spare, ", "./spare, boot_ns: 1, ", "1, b", "spare.boot_ns: 'beep' has no such param"),
    ("mock: beep", "mock: broken_one", "broken_one", "'broken-one' of hilgw-beep does not"),
]


def test_what_is_wrong_is_reported_with_its_place(here: Path) -> None:
    expected = []
    for number, (change, into, at, reported) in enumerate(WRONG):
        text = CONFIG.replace(change, into)
        before = text[: text.index(at)]
        place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        (here / f"{number}.yaml").write_text(text)
        expected.append((f"{number}.yaml:{place}: ", reported))
    names = [f"{number}.yaml" for number in range(len(WRONG))]
    done = run_program(*COMMAND, "check", *names, cwd=here)
    assert done.returncode == 3, done.stdout
    for place, reported in expected:
        assert any(
            line.startswith(place) and reported in line for line in done.stderr.splitlines()
        ), done.stderr


def test_the_mock_runs_alone(here: Path) -> None:
    with Gateway(here, ["mock", "beep", "--link", "./a"]) as mock:
        assert (here / "a").exists()
        assert mock.stop(signal.SIGTERM) == 143
