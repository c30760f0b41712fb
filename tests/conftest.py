"""What all tests share: judges (Debian programs) are required, or skipped with their name; tests
that need a real device are there when an option names it."""

import asyncio
import gc
import inspect
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

from hilgw.engine.control_loop.guardian import Guardian
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.protocols.gateway import messages
from hilgw.testing.sim import Clock, SimEventLoop
from tests.apart.sitecustomize import PLACES, VARIABLE
from tests.cases import part_of

# How long one example takes shows nothing on a busy machine. The suite's cases are the same in each
# run, so more of them find nothing new: `tools/test --hypothesis-profile explore tests/framing`
# looks for others, and `tools/test --fast` has fewer (`fast`).
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("fast", settings.get_profile("suite"), max_examples=8)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("suite")

REAL = {  # file of tests/real: the option that names its device
    "test_loop_plug.py": ("--loop-plug", "a real serial port, its TX and RX joined"),
    "test_xbee_module.py": ("--xbee", "a real serial port with an XBee in API mode"),
    "test_epuck_robot.py": ("--epuck", "a real e-puck, its wheels off the ground"),
    "test_create2_robot.py": ("--create2", "a real Create 2, its wheels off the ground"),
    "test_dynamixel_bus.py": ("--dynamixel", "two real Dynamixel servos, ids 1 and 2"),
    "test_feetech_bus.py": ("--feetech", "two real Feetech STS servos, ids 1 and 2"),
}
# Where `.ci/run` installs the packages of tests/e2e/npm, as far as it can.
NODE_MODULES = Path(sys.prefix) / "npm" / "node_modules"
NODE_TESTS = {"test_npm_xbee_api.py": "xbee-api", "test_axe.py": "axe-core"}  # and their package
PACKAGES = {  # of a judge, where Debian has another name for it
    "avr-gcc": "gcc-avr avr-libc",
    "avr-size": "binutils-avr",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-avr": "qemu-system-misc",
    "qemu-system-arm": "qemu-system-arm",
}
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
os.environ["PATH"] = SEARCH  # of an ordinary user, too: judges are started by their names


# nohup ignores the first of them, and a shell ignores the second in a background job. Programs that
# tests start would inherit that: a handler that does nothing keeps this process going, and its
# children begin with the default.
IGNORED = (signal.SIGHUP, signal.SIGINT)
FROM_THE_START = [each.name for each in IGNORED if signal.getsignal(each) == signal.SIG_IGN]


def handle_instead_of_ignoring(names: Sequence[str]) -> None:
    for name in names:
        signal.signal(signal.Signals[name], lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    handle_instead_of_ignoring(getattr(config, "workerinput", {}).get("ignored", FROM_THE_START))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of pytest-xdist goes on, too."""
    node.workerinput["ignored"] = FROM_THE_START


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("real devices")
    for option, meaning in REAL.values():
        group.addoption(option, metavar="PORT", help=meaning)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    option = REAL.get(collection_path.name, ("", ""))[0]
    if option and not config.getoption(option):
        return True
    package = NODE_TESTS.get(collection_path.name)
    if package is not None and not (NODE_MODULES / package).is_dir():
        return True
    if config.option.markexpr == FAST and all_wait(collection_path):
        return True  # what it imports takes longer than many tests
    return None


# --- gateways of the user who runs the tests -----------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def apart() -> Iterator[None]:
    """No gateway of this user is found, and none of a test is left where other tests look: also by
    the programs of `tests.e2e.running`."""
    with tempfile.TemporaryDirectory(prefix="hilgw-") as folder, pytest.MonkeyPatch.context() as to:
        for subfolder in ("run", *PLACES.values()):
            Path(folder, subfolder).mkdir(mode=0o700)
        for name, place in PLACES.items():
            to.setattr(messages, name, Path(folder, place))
        to.setenv(VARIABLE, folder)
        to.setenv("XDG_RUNTIME_DIR", f"{folder}/run")
        yield


# --- tests that start programs -------------------------------------------------------------------

FAST = "not process and not wall_clock and not exhaustive"  # of tools/test --fast
WAITING = ("process", "wall_clock")
LIVE = "round_trip_on_a_"  # of the rules of an adapter: on a pipe or a virtual port
PAGES = Path(__file__).parent / "web" / "pages"
STARTING = [Path(__file__).parent / folder for folder in ("e2e", "real")]
UNMARKED = "this test starts a program: mark it with @pytest.mark.process"
at_work: list[pytest.Item] = []  # the test that runs


def all_wait(path: Path) -> bool:
    """Whether all tests of this file, or of this folder, are left out of the fast ones."""
    if path.is_dir():
        return path in STARTING
    if path.suffix != ".py":
        return False
    text = path.read_text(encoding="utf-8")
    return any(f"\npytestmark = pytest.mark.{name}" in text for name in WAITING)


def leave_out_emulated(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Emulated boards take whole processors: `.ci/run` has a stage for them, and a folder or file
    that is named runs its own. In the whole suite they are left out."""
    whole = not config.args or [Path(each).name for each in config.args] == ["tests"]
    if whole and not config.option.markexpr:
        left_out = [each for each in items if each.get_closest_marker("emulated") is not None]
        items[:] = [each for each in items if each not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is imported and collected stays: nothing searches it for garbage."""
    given(none())(lambda _: None)()  # Hypothesis makes its Random: frozen, it would be unseen
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def take_fewer_examples(items: Sequence[pytest.Item]) -> None:
    """Give the rules of adapters and bodies the share of examples that the profile has."""
    subjects = {getattr(item, "cls", None) for item in items}
    for subject in (each for each in subjects if hasattr(each, "examples")):
        subject.examples = min(subject.examples, part_of(subject.examples))


def pytest_collection_finish(session: pytest.Session) -> None:
    """`tools/test --fast` has fewer frames, too: of these, many come after all buffers are full."""
    take_fewer_examples(session.items)
    if rules := sys.modules.get("hilgw.testing.conformance.simulated_rules"):
        vars(rules)["FRAMES"] = min(rules.FRAMES, part_of(rules.FRAMES))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_emulated(config, items)
    files = {item.path for item in items}
    starting = {file for file in files if set(STARTING) & {*file.parents}}
    pages = {file for file in files if PAGES in file.parents}
    for item in items:
        if item.path in starting:
            item.add_marker(pytest.mark.process)
        if LIVE in item.name:
            item.add_marker(pytest.mark.wall_clock("an adapter runs on a line of its own"))
    # Tests that start programs also wait for them: others fill this time, and the end of the run.
    waits = {item.path for item in items if any(map(item.get_closest_marker, WAITING))}
    items.sort(key=lambda item: (item.path not in pages, item.path not in waits))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker runs all tests of pages: they share a browser, and it starts once."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            pages = PAGES.relative_to(Path(__file__).parents[1]).as_posix()
            return pages if nodeid.startswith(f"{pages}/") else super()._split_scope(nodeid)

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def no_program(event: str, details: tuple[Any, ...]) -> None:
    """An audit hook: only a test with the mark `process` starts a program."""
    if event != "subprocess.Popen" or not at_work or at_work[0].get_closest_marker("process"):
        return
    # On a new machine matplotlib lists the fonts, in whichever test imports it first.
    if details[0] != "fc-list":
        pytest.fail(UNMARKED)


sys.addaudithook(no_program)


class NoGuardian:
    """Stands for the process of a guardian in tests that start none: it takes everything."""

    def demand(self) -> None: ...

    def confirmed(self) -> bool:
        return True

    def take(self, name: str, fd: int, *, is_line: bool = False) -> bool:
        return True

    def keep(self, name: str, stop_bytes: bytes) -> bool:
        return True

    async def drop(self, name: str) -> None: ...


def no_guardian(name: str) -> Any:
    with_process, without = getattr(Guardian, name), getattr(NoGuardian, name)

    def call(self: Guardian, *given: Any, **named: Any) -> Any:
        unmarked = at_work and at_work[0].get_closest_marker("process") is None
        return (without if unmarked else with_process)(self, *given, **named)

    return call


for method in ("demand", "confirmed", "take", "keep", "drop"):
    patch.object(Guardian, method, no_guardian(method)).start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    at_work[:] = [item]
    try:
        return (yield)
    finally:
        at_work.clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("only root can do this")
    for mark in item.iter_markers("judge"):
        for program in mark.args:
            if shutil.which(program, path=SEARCH) is None:
                package = PACKAGES.get(program, program)
                message = f"the judge {program} is not installed: apt-get install {package}"
                if os.environ.get("HILGW_REQUIRE_JUDGES") == "1":
                    pytest.fail(message)
                pytest.skip(message)


# --- tests that are coroutines --------------------------------------------------------------------

LONGEST_S = 60


@pytest.fixture
def clock() -> Clock:
    """The time of an `async def` test that takes it: the test runs in a SimEventLoop."""
    return Clock()


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of an `async def` test that runs in real time."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def timer(runner: asyncio.Runner) -> Iterator[Timer]:
    """The timer of an `async def` test that runs in real time."""
    timer = Timer(runner.get_loop())
    yield timer
    timer.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an `async def` test. What is reported to its event loop fails it."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    values = pyfuncitem.funcargs
    reports: list[dict[str, Any]] = []
    arguments = {name: values[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, each: reports.append(each))
        async with asyncio.timeout(None if "clock" in values else LONGEST_S):
            await pyfuncitem.obj(**arguments)

    if "runner" in values:
        values["runner"].run(watched())
    else:
        factory = (lambda: SimEventLoop(values["clock"])) if "clock" in values else None
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(watched())
    gc.collect(1)
    assert not reports, reports
    return True
