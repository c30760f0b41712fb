"""The control socket against other gateways, bad clients and lack; sockets that only show."""

import asyncio
import errno
import json
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from hilgw.client.connection import line_of
from hilgw.client.control_paths import is_live
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.control_socket.listener import BACKLOG, ControlListener
from hilgw.engine.control_socket.look_server import (
    COMPARED,
    IDLE_S,
    MAX_CLIENTS,
    MAX_STOPS,
    STOP_S,
    LookServer,
    Watched,
)
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.observer import Observers
from hilgw.engine.reporting.parts import TOGETHER
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.requests import (
    REQUESTS,
    Disarm,
    Find,
    Identify,
    Report,
    Request,
    Watch,
)
from hilgw.testing.sim import Clock, elapse
from hilgw.transports import accepting

pytestmark = pytest.mark.usefixtures("clock")


class Gateway:
    """Enough of one: its report is long."""

    def __init__(self) -> None:
        self.control_loops = ControlLoops(Clock())

    def report_parts(self) -> dict[str, Any]:
        return {"filler": "x" * 1_000_000}


def server(path: Path | None) -> ControlServer:
    return ControlServer(Gateway(), str(path) if path else None)  # type: ignore[arg-type]


async def answer_at(path: Path, request: bytes = b"[]\n") -> Any:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(request)
        return json.loads(await reader.readline())
    finally:
        writer.close()


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Path, ControlServer]]:
    gateway = server(folder / "control")
    await gateway.start()
    try:
        yield folder / "control", gateway
    finally:
        await gateway.close()


def dead(path: Path) -> Path:
    """The socket of a killed program."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "hilgw"
    folder.mkdir(mode=0o700)
    return folder


async def test_a_second_gateway_neither_steals_nor_deletes_the_socket(tmp_path: Path) -> None:
    path = tmp_path / "control"

    first, second = server(path), server(path)
    await first.start()
    with pytest.raises(HilgwError, match="another program has this control socket"):
        await second.start()
    await second.close()
    assert (await answer_at(path))["exit_code"] == 2
    await first.close()
    assert not list(tmp_path.iterdir())


async def test_a_dead_socket_is_replaced_and_another_file_is_not(tmp_path: Path) -> None:
    path, notes = dead(tmp_path / "control"), tmp_path / "notes"
    notes.write_text("mine")
    gateway = server(path)
    await gateway.start()
    assert path.stat().st_mode & 0o777 == 0o600
    assert await answer_at(path)
    await gateway.close()
    with pytest.raises(HilgwError, match="name another path with --control"):
        await server(notes).start()
    assert notes.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [notes]


async def test_a_socket_that_replaced_ours_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "control"
    gateway = server(path)
    await gateway.start()
    path.unlink()
    other = server(path)
    await other.start()
    await gateway.close()
    assert await answer_at(path)
    await other.close()


async def test_dead_sockets_of_the_folder_are_swept_and_live_ones_are_not(folder: Path) -> None:
    dead(folder / "1.sock")
    dead(folder / f"{os.getpid()}.sock")
    (folder / "file.sock").touch()

    first, second = server(None), server(None)
    await first.start()
    assert {each.name for each in folder.iterdir()} == {"file.sock", f"{os.getpid()}.sock"}
    await second.start()  # the same number, in another container
    assert second.path.name == f"{os.getpid()}-2.sock"
    assert is_live(first.path)
    assert is_live(second.path)
    await second.close()
    assert await answer_at(first.path)
    await first.close()
    assert [each.name for each in folder.iterdir()] == ["file.sock"]


async def test_a_start_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    for name in ("chmod", "link"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(HilgwError, match="Too many open files"):
                await server(tmp_path / "control").start()
        assert not list(tmp_path.iterdir())


# --- clients --------------------------------------------------------------------------------------


async def test_readers_that_never_read_are_few_and_closed_at_their_deadline(
    tmp_path: Path, clients: ExitStack
) -> None:
    report, stop = (
        b'{"do": "report", "version": 2}\n',
        b'{"do": "disarm", "all": true, "speed": 3}\n',
    )
    async with served(tmp_path) as (path, gateway):
        for _ in range(MAX_CLIENTS):
            client(path, clients, report)
            await elapse(0.001)
        assert gateway.report() == {"refused": 0}
        assert "too many connections" in (await answer_at(path, report))["error"]
        assert gateway.report() == {"refused": 1}
        assert (await answer_at(path, b'{"do": "identify", "version": 2}\n'))["ok"] is True
        assert await answer_at(path, stop) == {"ok": True, "robots": [], "version": 2}
        idle = []
        for number in range(MAX_STOPS):
            idle.append(client(path, clients, b'{"do": "dis' if number % 2 else b""))
            await elapse(0.001)
        for first in idle[:3]:  # a new one takes the place of the one that is silent for longest
            assert (await answer_at(path, stop))["ok"] is True
            await elapse(0.001)
            assert b"too many connections" in first.recv(1000) and not first.recv(1000)
            first.close()
            await elapse(0.001)
            client(path, clients)  # the place of that `disarm`
            await elapse(0.001)
        await elapse(STOP_S)
        assert not idle[3].recv(1000)  # its time was over: no other needed its place
        await elapse(IDLE_S + 1)
        assert (await answer_at(path))["exit_code"] == 2
        await elapse(0.1)
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_line_has_a_deadline_however_it_drips(tmp_path: Path) -> None:
    async with served(tmp_path) as (path, _):
        reader, writer = await asyncio.open_unix_connection(path)
        for _ in range(int(IDLE_S)):
            writer.write(b"x")
            await elapse(1)
        await elapse(1)
        assert reader.at_eof() or await reader.read() == b""
        writer.close()


async def test_requests_in_one_read_and_one_without_an_end_are_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as (path, _):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"[]\n[]\n[]")
        writer.write_eof()
        assert (await reader.read()).count(b"unknown request") == 3
        writer.close()


async def test_closing_with_clients_connected_leaves_no_task_and_no_complaint(
    tmp_path: Path,
) -> None:
    path = tmp_path / "control"
    gateway = server(path)
    await gateway.start()
    idle = [await asyncio.open_unix_connection(path) for _ in range(10)]
    for _, writer in idle[:5]:
        writer.write(b'{"do": "report", "version": 2}\n')
    await elapse(0.1)
    await gateway.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    for _, writer in idle:
        writer.close()


async def test_without_descriptors_it_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls, better_at = accepting.accept, [], asyncio.get_running_loop().time() + 5
    connections: list[socket.socket] = []

    def accept(listening: socket.socket) -> object:
        calls.append(1)
        if asyncio.get_running_loop().time() < better_at:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(listening)

    monkeypatch.setattr(accepting, "accept", accept)
    listener = ControlListener(connections.append, str(tmp_path / "control"))
    listener.start()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(listener.path))
    await elapse(6)
    assert len(connections) == 1
    assert len(calls) < 60
    monkeypatch.setattr(accepting, "accept", None)
    listener.close()  # a pause that ends later listens no more
    await elapse(1)
    for connection in (client, *connections):
        connection.close()


STOP = line_of(Disarm(all=True))
MANY = 300  # more than there are places for


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def client(path: Path, clients: ExitStack, data: bytes = b"") -> socket.socket:
    made = clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    made.setblocking(False)
    made.connect(str(path))
    made.send(data)
    return made


@pytest.mark.parametrize("message", [b"", b'{"do": "dis', line_of(Report())])
async def test_a_disarm_is_answered_while_others_take_every_place_again_and_again(
    message: bytes, tmp_path: Path, clients: ExitStack
) -> None:
    async with served(tmp_path) as (path, _):
        for number in range(MANY):
            client(path, clients, message)
            await elapse(0.001)
            if number % 3 == 0:
                assert (await answer_at(path, STOP))["ok"] is True


async def test_a_disarm_is_answered_that_comes_later_than_its_connection(
    tmp_path: Path, clients: ExitStack
) -> None:
    async with served(tmp_path) as (path, _):
        for _ in range(MANY):
            client(path, clients)
            await elapse(0.001)
        late = client(path, clients)
        for _ in range(BACKLOG):  # all that were waiting with it, and connect before it goes on
            client(path, clients)
        await elapse(0.001)
        late.send(STOP)
        await elapse(0.001)
        assert b'"ok":true' in late.recv(1000)


async def test_a_queue_full_of_those_that_left_is_empty_soon(
    tmp_path: Path, clients: ExitStack
) -> None:
    async with served(tmp_path) as (path, _):
        for _ in range(20):
            for _ in range(BACKLOG):
                client(path, clients).close()
            stop = client(path, clients, STOP)
            await elapse(0.001)
            assert b'"ok":true' in stop.recv(1000)


async def test_requests_without_end_do_not_delay_a_disarm(
    tmp_path: Path, clients: ExitStack
) -> None:
    """Every other client has asked before: few of them are answered first."""
    gateway, answered = server(path := tmp_path / "control"), []
    gateway.handlers[Report] = lambda request, client: answered.append(request) or {}
    await gateway.start()
    flooding = [client(path, clients, 50 * line_of(Report())) for _ in range(BACKLOG)]
    assert len(flooding) == MAX_CLIENTS
    await elapse(0.001)
    for _ in range(10):
        for sender in flooding:
            sender.send(5 * line_of(Report()))
        stop, before = client(path, clients, STOP), len(answered)
        while not received(stop):
            assert len(answered) - before <= 8
            await asyncio.sleep(0)
        for sender in flooding:
            received(sender)
    assert answered
    await gateway.close()


def received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20)
    except BlockingIOError:
        return b""


SHOWN = ("identify", "find", "watch", "report")


@asynccontextmanager
async def watched(
    tmp_path: Path,
    report: Callable[[], dict[str, Any]] = lambda: {"bytes": 3},
    parts: Callable[[], Iterable[str]] = lambda: ["port", "tcp"],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the server of such a program."""
    timer = Timer(asyncio.get_running_loop())
    program = Watched(Observers(), timer, report, parts)
    server = LookServer(program, str(tmp_path / "control"), config="hilgw bridge x")
    await server.start()
    reader, writer = await asyncio.open_unix_connection(tmp_path / "control")
    try:
        yield reader, writer
    finally:
        writer.close()
        await server.close()
        timer.close()


async def answers(tmp_path: Path, *lines: bytes) -> list[dict[str, Any]]:
    """All on one connection."""
    async with watched(tmp_path) as (reader, writer):
        replies = []
        for line in lines:
            writer.write(line)
            replies.append(json.loads(await reader.readline()))
    return replies


async def test_it_shows_what_the_program_has(tmp_path: Path) -> None:
    asked = (Identify(), Find("part", ["port", "p"]), Report(), Watch(names=["port"]))
    identity, matches, report, watch = await answers(tmp_path, *map(line_of, asked))
    assert identity["config"] == "hilgw bridge x" and identity["pid"]
    assert matches["found"] == ["port"]
    assert report["report"] == {"bytes": 3}
    assert watch["ok"] is True


async def test_it_does_nothing_else_and_the_connection_stays(tmp_path: Path) -> None:
    others = [do for do in REQUESTS if do not in SHOWN]
    lines = [b'{"do": "%s", "version": 2}\n' % do.encode() for do in others]
    stop, *rest, known = await answers(
        tmp_path, line_of(Disarm(all=True)), *lines, line_of(Identify())
    )
    assert all("error" in each for each in (stop, *rest)) and known["ok"] is True
    assert stop["error"] == "disarm is not for this program: it can only be watched"


async def test_a_line_without_a_request_is_answered_and_the_connection_stays(
    tmp_path: Path,
) -> None:
    lines = (b"\xff\n", b"[]\n", b"{\n", b'{"do": 3}\n', b'{"do": "watch", "version": 3}\n')
    *wrong, last = await answers(tmp_path, *lines, line_of(Identify()))
    assert all("error" in each and each["version"] == 2 for each in wrong)
    assert wrong[-1]["client_version"] == 3 and wrong[-1]["exit_code"] == 5
    assert "version 2" in wrong[-1]["error"] and "version 3" in wrong[-1]["error"]
    assert last["ok"] is True


async def test_a_long_line_is_answered_at_its_end_and_delays_no_others(tmp_path: Path) -> None:
    names = [f"{number:x}" for number in range(30_000)]
    many = line_of(Find("part", names)), line_of(Find("part", ["port", *names]))
    *none, matches, long, last = await answers(
        tmp_path, *many, b"x" * 10**7 + b"\n", line_of(Identify())
    )
    assert [each["found"] for each in none] == [[]] and matches["found"] == ["port"]
    assert "longer than 262144 bytes" in long["error"] and last["ok"] is True


async def test_requests_that_come_at_once_leave_the_event_loop_to_others(tmp_path: Path) -> None:
    """Between two of them others have a turn, also for one who watches."""
    turns: list[int] = []
    reports: list[int] = []

    def report() -> dict[str, Any]:
        asyncio.get_running_loop().call_soon(turns.append, len(reports))
        reports.append(len(turns))
        return {}

    async with watched(tmp_path, report) as (reader, writer):
        writer.write(line_of(Watch()) + 5 * line_of(Report()))
        for _ in range(6):
            await reader.readline()
    assert reports == [0, 1, 2, 3, 4]


async def test_the_name_of_a_robot_is_found_without_those_of_all_devices(tmp_path: Path) -> None:
    named: list[str] = []

    def parts() -> Iterator[str]:
        for name in ("rover", *map(str, range(100_000))):
            named.append(name)
            yield name

    async with watched(tmp_path, parts=parts) as (reader, writer):
        writer.write(line_of(Watch(names=["rover"])))
        assert json.loads(await reader.readline())["ok"] is True
    assert len(named) == COMPARED


@pytest.mark.parametrize(
    ("request_", "a_turn"),
    [(Find("part", ["none"]), COMPARED), (Watch(names=["none"]), COMPARED), (Report(), TOGETHER)],
)
async def test_many_names_are_compared_and_a_long_answer_is_made_in_turns(
    tmp_path: Path, request_: Request[Any], a_turn: int
) -> None:
    turn, turns = 0, Counter[int]()

    def names() -> Iterator[str]:
        for number in range(5 * a_turn):
            turns[turn] += 1
            yield str(number)

    def report() -> dict[str, Any]:
        return cast(dict[str, Any], ((name, name) for name in names()))

    async with watched(tmp_path, report, names) as (reader, writer):
        writer.write(line_of(request_))
        line = asyncio.ensure_future(reader.readline())
        while not line.done():
            turn += 1
            await asyncio.sleep(0)
        answer = json.loads(await line)
    if a_turn == COMPARED:
        assert "known here: 0, 1" in answer.get("error", "known here: 0, 1")
        assert [*turns.values()] == [COMPARED] * 5
    else:
        assert answer["report"] == {str(n): str(n) for n in range(5 * TOGETHER)}
        assert max(turns.values()) == TOGETHER


async def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    (answer,) = await answers(tmp_path, line_of(Watch(names=["prot"])))
    assert answer["error"] == "nothing here has the name 'prot'; did you mean 'port'?"
