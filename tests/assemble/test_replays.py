"""Recordings in the place of mocks: the same run again, its frames, and what differs from it."""

import asyncio
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hilgw.assemble.gateway import build
from hilgw.assemble.ports import decoders_of, with_frames
from hilgw.cli.main import main
from hilgw.config.load import load_config
from hilgw.config.replays import ReplayOptions
from hilgw.config.shipped import found
from hilgw.config.source.text import ConfigErrors
from hilgw.engine.observer import FrameEvent, Observer
from hilgw.engine.recording import recorder
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.errors import DepartureError
from hilgw.record.recording import Recording
from hilgw.record.writer import Event, Files, Settings
from hilgw.testing.sim import Recorder
from hilgw.units import NS_PER_S
from tests.golden.running import links
from tests.view.samples import recorded as made

SECONDS = 1.4
ROUNDS = 100


class Written(list[Event]):
    """Events that are written at once, and never gathered."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def append(self, event: Event) -> None:
        self._files.write([event])


class InProcess:
    """Stands for the process of a recording: writes at once."""

    def __init__(self, settings: Settings, *_: object, **__: object) -> None:
        Path(settings.path).touch(0o600, exist_ok=False)
        self.gathered = Written(Files(settings, lambda report: None))
        self.put = self.add = self.gathered.append

    async def stop(self) -> None:
        pass


def run(
    config: str, *, record: Path | None = None, replay: ReplayOptions | None = None, **more: Any
) -> tuple[dict[str, Any], list[str]]:
    """The report of a run as fast as it can, and its notices."""
    given = more.get("overrides", links(found(config)))
    loaded = load_config(found(config), given, more.get("backend", "loopback"), "max", replay)
    log = Recorder()

    async def go() -> dict[str, Any]:
        gateway = build(loaded.config, asyncio.get_running_loop(), log)
        if "seen" in more:
            gateway.observer.add(more["seen"], ["frame"])
        if record is not None:
            head = more.get("head", {})
            settings = Settings(str(record), head, list(gateway.supervisors), 0)
            with patch.object(recorder, "RecordingProcess", InProcess):
                recording = recorder.Recorder(settings, gateway, lambda report: None)
            recording.begin()
        try:
            await gateway.run(asyncio.Event(), more.get("seconds", SECONDS))
            await asyncio.sleep(0)
            if record is not None:
                await recording.stop()
        finally:
            gateway.close()
        return gateway.report()

    with asyncio.Runner(loop_factory=lambda: PacedLoop("max")) as runner:
        return runner.run(go()), log.notices


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """recorded(config): its recording and report, made once."""
    folder = tmp_path_factory.mktemp("recordings")

    def make(config: str) -> tuple[Path, dict[str, Any]]:
        path = folder / f"{config}.pcapng"
        if not path.exists():
            report, _ = run(config, record=path)
            path.with_suffix(".json").write_text(json.dumps(report))
        return path, json.loads(path.with_suffix(".json").read_text())

    return make


def as_replayed(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what differs in any replay."""
    kept = json.loads(json.dumps(report))
    for key in ("speed", "replays", "duration_s"):
        kept.pop(key, None)
    for port in kept["ports"].values():
        del port["port"]
    return dict(kept)


# a module without a setup, one with; text modules; a robot and its program on TCP; both on TCP; a
# Webots controller
@pytest.mark.parametrize(
    "config", ["uart", "xbee", "text", "create2", "wc2ec", "webots-controller"]
)
def test_a_run_on_its_recording_has_the_same_report(recorded: Any, config: str) -> None:
    path, before = recorded(config)
    after, notices = run(config, replay=ReplayOptions(str(path)))
    assert as_replayed(after) == as_replayed(before)
    assert not [each for each in notices if "departs" in each]
    for replayed in after["replays"].values():
        assert replayed["matched"] == replayed["frames"] > 0 == replayed["departures"]
    assert list(after["replays"]) == [*before["ports"]]


def test_what_happens_at_the_end_of_a_run_is_of_the_run() -> None:
    """However many rounds of the event loop, and deadlines of that time, it takes."""
    config = load_config(found("uart"), [], "loopback", "max").config

    async def go() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        gateway = build(config, loop, Recorder())
        left, end_ns = ROUNDS, gateway.timer.now() + NS_PER_S

        def happen() -> None:
            nonlocal left
            left -= 1
            if left % 10:
                loop.call_soon(happen)
            elif left:
                gateway.timer.call_at(end_ns, happen)

        gateway.timer.call_at(end_ns, happen)
        stopped = gateway.control_loops.stop_motors
        at_stop: list[int] = []

        def stop() -> Any:
            at_stop.append(left)
            return stopped()

        with patch.object(gateway.control_loops, "stop_motors", stop):
            await gateway.run(asyncio.Event(), 1.0)
        gateway.close()
        return at_stop[0], gateway.timer.now() - end_ns

    with asyncio.Runner(loop_factory=lambda: PacedLoop("max")) as runner:
        assert runner.run(go()) == (0, 0)


CHANGED = ['robots.rover.controller.payload="pong {n}"']


def test_a_departure_may_end_the_run(recorded: Any) -> None:
    path, _ = recorded("uart")
    stop = ReplayOptions(str(path), settings={"on_departure": "stop"})
    with pytest.raises(DepartureError, match="departs from the recording at frame 1 of 3") as error:
        run("uart", replay=stop, overrides=CHANGED)
    assert (error.value.exit_code, error.value.where) == (8, "uart0")


@pytest.mark.parametrize("seconds", [1.0, SECONDS, 2.5])
def test_the_stop_at_the_end_of_either_run_does_not_depart(recorded: Any, seconds: float) -> None:
    path, _ = recorded("create2")
    stop = ReplayOptions(str(path), settings={"on_departure": "stop"})
    report, _ = run("create2", replay=stop, seconds=seconds)
    body, controller = report["replays"].values()
    assert body["departures"] == controller["departures"] == 0
    assert controller["after_end_bytes"] == 0
    if seconds == SECONDS:
        assert body["after_end_bytes"] == 0 and body["matched"] == body["frames"]


def test_what_is_not_in_the_recording_is_a_mock_and_never_a_real_port(recorded: Any) -> None:
    path, _ = recorded("xbee")
    overrides = ["real=[cab.body]", "backend=real"]
    report, _ = run("wc2ec", replay=ReplayOptions(str(path)), overrides=overrides, backend=None)
    assert "(mock wc2ec_robot)" in report["ports"]["cab.body"]["port"]
    assert report["replays"].keys() == {"xbee0"}


def test_a_recording_of_none_of_its_parts_is_an_error(recorded: Any, tmp_path: Path) -> None:
    """All would be mocks, in what looks like a replay."""
    path, _ = recorded("uart")
    (error,) = errors(tmp_path, "", replay=ReplayOptions(str(path)))
    assert "the recording has no part of this configuration, but 'uart0'" in error


def test_a_recording_of_strangers_ends_no_run(recorded: Any, tmp_path: Path) -> None:
    """Cut, and with the bytes of another run: what is read is played."""
    whole = recorded("uart")[0].read_bytes()
    for number, data in enumerate((whole[: len(whole) * 3 // 4], whole + whole[200:-3])):
        path = tmp_path / f"{number}.pcapng"
        path.write_bytes(data)
        report, _ = run("uart", replay=ReplayOptions(str(path)))
        assert report["ledger"]["adds_up"] and report["replays"]["uart0"]["frames"]


def errors(tmp_path: Path, change: str, *, replay: ReplayOptions | None = None) -> list[str]:
    text = Path(found("create2")).read_text().replace("backend: mock ", "backend: real ")
    file = tmp_path / "create2.yaml"
    file.write_text(text.replace("    controller:   ", f"      {change}\n    controller:   "))
    with pytest.raises(ConfigErrors) as caught:
        load_config(str(file), replay=replay)
    return [str(each).removeprefix(f"{tmp_path}/") for each in caught.value.diagnostics]


def test_a_wrong_recording_is_named_with_its_place(recorded: Any, tmp_path: Path) -> None:
    path, _ = recorded("uart")
    (error,) = errors(tmp_path, "backend: replay")
    assert error.startswith("create2.yaml:25:16: robots.create.body.backend: there is no recording")
    (tmp_path / "text.pcapng").write_text("no recording")
    for file, reason in (
        ("none.pcapng", "No such file"),
        ("text.pcapng", "is not a pcapng file"),
        (str(path), "the recording has no line of 'create.body'; known here: uart0"),
    ):
        (error,) = errors(tmp_path, f"backend: replay\n      recording: {file}")
        assert error.startswith("create2.yaml:26:18: robots.create.body.recording: ")
        assert reason in error


def test_a_recording_moves_no_real_robot_by_itself(recorded: Any, tmp_path: Path) -> None:
    path, _ = recorded("create2")
    replay = ReplayOptions(str(path), only=("create.controller",))
    (line,) = errors(tmp_path, "", replay=replay)
    assert "a recording would command the real body 'create.body'" in line
    assert "`real: [create.body]`" in line
    overrides = ["real=[create.body]", "robots.create.safety.armed=true"]
    loaded = load_config(found("create2"), overrides, "real", None, replay).config
    assert loaded.robots["create"].safety.armed is False
    mocked = load_config(found("create2"), overrides[1:], "mock", None, replay).config
    assert mocked.robots["create"].safety.armed is True


def test_a_recorded_webots_controller_moves_no_real_robot_by_itself(recorded: Any) -> None:
    path, _ = recorded("webots-controller")
    replay = ReplayOptions(str(path), only=("rover.controller",))
    with pytest.raises(ConfigErrors, match=r"would command the real body 'rover\.body'"):
        load_config(found("webots-controller"), [], "real", None, replay)
    armed = ["real=[rover.body]", "robots.rover.safety.armed=true"]
    loaded = load_config(found("webots-controller"), armed, "real", None, replay).config
    assert loaded.robots["rover"].safety.armed is False


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("python-controller", "hilgw starts the program itself, with every back end"),
        ("webots-proxy", "webots_proxy is not replayed: its bytes are between it and Webots"),
        ("uart", "the controller runs in the gateway"),
    ],
)
def test_a_controller_that_is_not_replayed_is_named(config: str, why: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_config(found(config), ["robots.rover.controller.backend=replay"])
    assert why in str(caught.value.diagnostics[0])


Shown = tuple[str, str, str, str]


class Seen(Observer):
    def __init__(self) -> None:
        self.frames: list[Shown] = []

    def frame(self, event: FrameEvent) -> None:
        text = event.describe(event.data)
        self.frames.append((event.station, str(event.direction), event.data.hex(), text))


def frames_recorded(config: str, path: Path) -> tuple[list[Shown], dict[str, Any]]:
    """The frames of a run of this configuration, and the head of its recording."""
    path_of = found(config)
    options = ["--set", "backend=loopback", *(f"--set={each}" for each in links(path_of))]
    head = {"configuration": Path(path_of).read_text(), "arguments": ["run", *options]}
    run(config, record=path, head=head, seen=(seen := Seen()), seconds=2.0)
    return seen.frames, head


@pytest.mark.parametrize("config", ["uart", "xbee-digimesh", "ir_toy", "hc12", "rylr998", "text"])
def test_frames_are_those_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    path = tmp_path / "a.pcapng"
    live, head = frames_recorded(config, path)
    events = with_frames(Recording(path).events(), decoders_of(head, "a"))
    shown = [
        (each["station"], each["direction"], each["data"], each["text"])
        for each in events
        if each["event"] == "frame"
    ]
    assert main(["show", str(path), live[0][0], "--frames"]) == 0
    assert f"| {live[0][3]}" in capsys.readouterr().out
    assert main(["show", str(path), "rover", "--frames"]) == 1
    assert "rover has no frames" in capsys.readouterr().err
    assert {each[1] for each in live} == {"sent", "received"}
    for station in {each[0] for each in live}:
        those = [[each for each in all if each[0] == station] for all in (shown, live)]
        assert those[0] == those[1]


def test_frames_of_a_run_on_another_machine_need_no_file_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pcapng"
    robot = "robots: {a: {body: {kind: wc2ec, connect: 'tcp://127.0.0.1:1', simulated: true}, "
    text = f"version: 1\n{robot}controller: {{kind: python, file: of_that_machine.py}}}}}}\n"
    uart = "adapters: {uart0: {kind: uart, port: /dev/null, framing: cobs}}\n"
    shown = {"event": "bytes", "part": "uart0", "direction": "received", "data": "026100"}
    ports = [{"event": "port", "name": "uart0", "state": "up", "reason": ""}]
    made(path, *ports, shown, configuration=text + uart)
    assert main(["show", str(path), "uart0", "--frames"]) == 0
    assert "<- 02 61 00" in capsys.readouterr().out
