"""`hilgw new-adapter`: four files; the test lists the missing parts until they are written."""

import binascii
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw.testing import AdapterConformance
from tests.e2e.running import ROOT, copy_checkout, in_process, python

NODE = "\nairs: {a: {nodes: {b: {mock: %s}}}}\nadapters"


WRONG = [  # a line of the file, in its place this one, where the error is, and the error
    ("kind: my_radio", "kind: my_radi", "my_radi\n", "kind: unknown kind 'my_radi'; did you"),
    ("channel: 1\n    po", "identity: 5\n    po", "5\n", "adapters.my_radio0.identity: "),
    ("channel: 1\n    po", "identty: a\n    po", "identty", "identty: unknown key; did you mean"),
    ("\nadapters", NODE % "my_radio, boot: 9", "9}", "boot: 'my_radio' has no such param"),
    ("\nadapters", NODE % "my_radi", "my_radi}", "mock: unknown mock 'my_radi'"),
    ("\nadapters", NODE % "broken_one", "broken_one", "'broken-one' of hilgw-my-radio does not"),
]


pytestmark = pytest.mark.process

ADAPTER = "hilgw/adapters/buzz.py"
MOCK = "firmware_mocks/buzz.py"
CONFIG = "configs/buzz.yaml"
TEST = "tests/adapters/test_buzz.py"

# A buzz frame: B5, length, packet, CRC-16 (from 0) over length and packet.
FRAME = "B5 04 70 69 6E 67"

ENCODE = """\
    body = bytes((len(data),)) + data
    return b"\\xb5" + body + binascii.crc_hqx(body, 0).to_bytes(2, "big")
"""

TAKE_FRAME = """\
    start = buffer.find(0xB5)
    if start != 0:
        return None, len(buffer) if start < 0 else start
    if len(buffer) < 2 or len(buffer) < buffer[1] + 4:
        return None, 0
    end = buffer[1] + 2
    good = binascii.crc_hqx(buffer[1:end], 0).to_bytes(2, "big") == buffer[end : end + 2]
    return (buffer[2:end], end + 2) if good and end > 2 else (None, 1)
"""

MAPPING = """\
    mapping=(
        Mapped("channel", "exact", "one module is one channel"),
        Mapped("channel -1", "exact", "goes out as it is"),
        Mapped("range, maxRange", "cannot", "the power is fixed"),
        Mapped("baudRate", "exact", "rate of the UART"),
        Mapped("byteSize", "exact", "8N1 alone"),
        Mapped("bufferSize", "exact", "the gateway's queue"),
    ),
"""

CHECK = """\
        if (common.parity, common.stop_bits) != ("none", 1):
            return [("parity", "it knows 8N1 alone", "leave parity and stop_bits out")]
        return []
"""

OBEY = """\
        while (start := buffer.find(b"\\xb5")) >= 0 and len(buffer) >= start + 2:
            end = start + 2 + buffer[start + 1]
            if len(buffer) < end + 2:
                break
            crc = binascii.crc_hqx(buffer[start + 1 : end], 0)
            if crc == int.from_bytes(buffer[end : end + 2], "big"):
                self.ACT
                buffer = buffer[end + 2 :]
            else:
                buffer = buffer[start + 1 :]
        return buffer
"""

RECEIVED = """\
        body = bytes([len(packet)]) + packet
        return b"\\xb5" + body + binascii.crc_hqx(body, 0).to_bytes(2, "big")
"""


def replace(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


def body(path: Path, function: str, lines: str) -> None:
    """Gives the function, which only raises, these lines instead."""
    text = path.read_text()
    start = text.index("raise NotImplementedError", text.index(f"def {function}("))
    start = text.rindex("\n", 0, start) + 1
    end = text.index("\n\n", start)
    path.write_text(text[:start] + lines.rstrip("\n") + text[end:])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project, as far as a new adapter needs it."""
    copy_checkout(tmp_path, "hilgw", "firmware_mocks", "configs", "tools", "docs")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def hilgw(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "-m", "hilgw", *arguments)


def run_tests(checkout: Path, *more: str, test: str = TEST) -> str:
    done = python(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, *more)
    return done.stdout


def fill_in_adapter(checkout: Path, adapter: str = ADAPTER, test: str = TEST) -> None:
    path = checkout / adapter
    empty = next(line for line in path.read_text().splitlines(True) if "mapping=()" in line)
    replace(
        path,
        ("rates=()", "rates=(9600, 19200)"),
        ('channels=""', 'channels="any one"'),
        ('str] = ""  # a few words for the list', 'str] = "a module that was invented here"'),
        ("        return []\n\n    def session", f"{CHECK}\n    def session"),
        ("    Limits,\n", "    Limits,\n    Mapped,\n"),
        (empty, MAPPING),
        ("from dataclasses", "import binascii\nfrom dataclasses"),
    )
    body(path, "encode", ENCODE)
    body(path, "take_frame", TAKE_FRAME)
    frame = bytes.fromhex(FRAME)
    wire = (frame + binascii.crc_hqx(frame[1:], 0).to_bytes(2, "big")).hex(" ")
    lines = (checkout / test).read_text().splitlines(True)
    vectors = next(line for line in lines if "vectors:" in line)
    notified = f'    vectors = (Vector(data=b"ping", wire=bytes.fromhex("{wire}")),)\n'
    replace(checkout / test, (vectors, notified + "    examples = 10\n"))


def fill_in_mock(checkout: Path, act: str, mock: str = MOCK) -> None:
    path = checkout / mock
    body(path, "obey", OBEY.replace("ACT", act))
    body(path, "received", RECEIVED)
    replace(path, ("from dataclasses", "import binascii\nfrom dataclasses"))


def lint(checkout: Path) -> str:
    files = (ADAPTER, MOCK, TEST)
    checked = python(checkout, "-m", "ruff", "check", "-q", *files).stdout
    return checked + python(checkout, "-m", "ruff", "format", "-q", "--diff", *files).stdout


def delivered(folder: Path, config: str, station: str) -> int:
    """Run this configuration in simulated time; return what the station delivered."""
    options = ("--speed", "max", "--duration", "1500ms", "--report", "out.json")
    gateway = hilgw(folder, "--config", config, *options)
    assert gateway.returncode == 0, gateway.stdout + gateway.stderr
    report = json.loads((folder / "out.json").read_text())
    assert report["ledger"]["adds_up"]
    return int(report["stations"][station]["delivered"])


def test_from_four_files_to_an_adapter(checkout: Path) -> None:
    """Its tests list the missing parts, then pass."""
    done = hilgw(checkout, "new-adapter", "buzz")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:4] == [ADAPTER, MOCK, CONFIG, TEST]
    named = re.findall(r"^  (test_\w+)$", done.stdout, re.M)
    first, *_ = (checkout / TEST).read_text().split("from __future__")
    assert re.findall(r"^  (test_\w+)$", first, re.M) == named
    assert all(hasattr(AdapterConformance, name) for name in named)
    assert lint(checkout) == ""

    fresh = run_tests(checkout, "-k", "not round_trip")
    assert " passed" not in fresh
    assert "error" not in fresh.splitlines()[-1]
    for reported in (
        f"expected: {ADAPTER}, encode(): the frame around one packet",
        "got:      no vector of TestBuzz has receives or wire",
        "expected: Vector(data=b'...', sends=bytes.fromhex('...'))",
        'expected: Mapped("channel", "exact" | "approximate" | "cannot", "how")',
        "expected: a few words, no full stop",
    ):
        assert reported in fresh, reported

    fill_in_adapter(checkout)
    results = run_tests(checkout, "-rA", "-k", " or ".join([*named, "bounded"]))
    passed = set(re.findall(r"^PASSED \S+::(test_\w+)", results, re.M))
    assert passed == {*named[:-1], "test_buffers_are_bounded"}, results[-3000:]
    assert f"expected: {MOCK}, obey(): for each frame of the client" in results

    fill_in_mock(checkout, "transmit(buffer[start + 2 : end], now)")
    filled = run_tests(checkout)
    assert " failed" not in filled, filled[-3000:]
    assert lint(checkout) == ""

    assert delivered(checkout, CONFIG, "buzz0") >= 1
    assert python(checkout, "tools/generate_docs").returncode == 0
    assert "one module is one channel" in (checkout / "docs/adapters/buzz.md").read_text()


# --- a distribution of its own --------------------------------------------------------------------

MY_RADIO, MY_MOCK = "hilgw_my_radio/adapter.py", "hilgw_my_radio/mock.py"
MY_TEST = "tests/test_my_radio.py"
ENTRY = '[project.entry-points."hilgw.mocks"]\n'
MOCKS = 'broken-one = "hilgw_my_radio.missing"\nxbee = "hilgw_my_radio.mock"\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made outside a checkout, filled in and installed by pip; the folder with its packages."""
    folder = tmp_path_factory.mktemp("distribution")
    assert hilgw(folder, "new-adapter", "my_radio").returncode == 0
    made = folder / "hilgw-my-radio"
    files = {"my_radio.yaml", "pyproject.toml", MY_RADIO, MY_MOCK, MY_TEST}
    files.add("hilgw_my_radio/__init__.py")
    assert {file.relative_to(made).as_posix() for file in made.rglob("*.*")} == files
    assert hilgw(folder, "new-adapter", "my_radio").returncode == 2
    fill_in_adapter(made, MY_RADIO, MY_TEST)
    fill_in_mock(made, "transmit(buffer[start + 2 : end], now)", MY_MOCK)
    replace(made / "pyproject.toml", (ENTRY, ENTRY + MOCKS))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    command = [*pip, "--disable-pip-version-check", "--target", str(folder / "site"), "."]
    subprocess.run(command, cwd=made, check=True, timeout=60)
    for name in ("tests", "my_radio.yaml"):
        (made / name).rename(folder / "site" / name)
    return folder / "site"


def test_a_gateway_and_the_kit_find_an_adapter_of_another_distribution(site: Path) -> None:
    filled = run_tests(site, "-k", "received or sent or sizes", test=MY_TEST)
    assert " failed" not in filled and " passed" in filled, filled[-3000:]
    assert delivered(site, "my_radio.yaml", "my_radio0") >= 1
    again = hilgw(site, "new-adapter", "my_radio", "--into", str(site.parent / "again"))
    assert "an adapter or a mock 'my_radio' is installed already" in again.stderr


def test_it_is_listed_and_described_and_a_broken_mock_is_named(site: Path) -> None:
    listed = hilgw(site, "adapters")
    assert listed.returncode == 0
    assert "a module that was invented here" in listed.stdout
    page = hilgw(site, "adapters", "my_radio").stdout
    assert "identity" in page
    assert "exact: one module is one channel" in page
    mocks = hilgw(site, "mock", "--list")
    assert mocks.returncode == 0
    assert "my-radio  " in mocks.stdout
    assert "Digi XBee" in mocks.stdout  # ours goes before another of that name
    why = "mock 'broken-one' of hilgw-my-radio does not load: ModuleNotFoundError"
    assert why in mocks.stderr
    assert "repair or remove hilgw-my-radio" in mocks.stderr
    assert "baudRate" in hilgw(site, "mock", "my_radio", "--list").stdout


@pytest.mark.parametrize(
    ("command", "code", "reported"),
    [
        ("adapter xbee", 2, "these files exist already: configs/xbee.yaml, hilgw/adapters/xbee/"),
        ("adapter My-Radio", 2, "is not a valid adapter name; write it like my_radio"),
        ("adapter class", 2, "is not a valid adapter name"),
        (f"adapter {'x' * 41}", 2, "is not a valid adapter name"),
        ("adapter buzz --into pyproject.toml", 1, "toml/hilgw_buzz/adapter.py: cannot write: "),
        ("adapter buzz --type sound", 2, "'sound' is not one of the choices"),
        ("body create2", 2, "these files exist already: configs/create2.yaml, "),
        ("body Rover", 2, "'Rover' is not a valid body name; write it like my_robot"),
    ],
)
def test_what_cannot_be_written_is_reported(command: str, code: int, reported: str) -> None:
    exit_code, _, error = in_process(*f"new-{command}".split(), cwd=ROOT)
    assert exit_code == code and reported in error
    assert not (ROOT / ADAPTER).exists()


def test_what_is_wrong_is_reported_with_its_place(site: Path) -> None:
    config, expected = (site / "my_radio.yaml").read_text(), []
    for number, (change, into, wrong, reported) in enumerate(WRONG):
        text = config.replace(change, into)
        before = text[: text.index(wrong)]
        place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        (site / f"{number}.yaml").write_text(text)
        expected.append((f"{number}.yaml:{place}: ", reported))
    done = hilgw(site, "check", *(f"{number}.yaml" for number in range(len(WRONG))))
    assert done.returncode == 3, done.stdout
    for place, reported in expected:
        assert any(
            line.startswith(place) and reported in line for line in done.stderr.splitlines()
        ), (place, reported, done.stderr)
