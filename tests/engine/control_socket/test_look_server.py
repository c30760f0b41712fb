"""A control socket that only shows, as of `hilgw bridge` and `hilgw mock`."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from hilgw.client.connection import line_of
from hilgw.engine.control_socket.look_server import COMPARED, LookServer, Watched
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.observer import Observers
from hilgw.engine.reporting.parts import TOGETHER
from hilgw.protocols.gateway.requests import (
    REQUESTS,
    Disarm,
    Find,
    Identify,
    Report,
    Request,
    Watch,
)

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
        found = []
        for line in lines:
            writer.write(line)
            found.append(json.loads(await reader.readline()))
    return found


async def test_it_shows_what_the_program_has(tmp_path: Path) -> None:
    asked = (Identify(), Find("part", ["port", "p"]), Report(), Watch(names=["port"]))
    identity, found, report, watch = await answers(tmp_path, *map(line_of, asked))
    assert identity["config"] == "hilgw bridge x" and identity["pid"]
    assert found["found"] == ["port"]
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
    *none, found, long, last = await answers(
        tmp_path, *many, b"x" * 10**7 + b"\n", line_of(Identify())
    )
    assert [each["found"] for each in none] == [[]] and found["found"] == ["port"]
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


@pytest.mark.parametrize("request_", [Find("part", ["none"]), Watch(names=["none"])])
async def test_many_names_are_compared_in_turns(tmp_path: Path, request_: Request[Any]) -> None:
    turn, turns = 0, Counter[int]()

    def parts() -> Iterator[str]:
        for name in range(5 * COMPARED):
            turns[turn] += 1
            yield str(name)

    async with watched(tmp_path, parts=parts) as (reader, writer):
        writer.write(line_of(request_))
        answer = asyncio.ensure_future(reader.readline())
        while not answer.done():
            turn += 1
            await asyncio.sleep(0)
        assert "known here: 0, 1" in json.loads(await answer).get("error", "known here: 0, 1")
    assert [*turns.values()] == [COMPARED] * 5


async def test_a_long_answer_is_written_in_turns(tmp_path: Path) -> None:
    turn, turns = 0, Counter[int]()

    def values() -> Iterator[tuple[str, Any]]:
        for name in range(5 * TOGETHER):
            turns[turn] += 1
            yield str(name), name

    async with watched(tmp_path, lambda: cast(dict[str, Any], values())) as (reader, writer):
        writer.write(line_of(Report()))
        answer = asyncio.ensure_future(reader.readline())
        while not answer.done():
            turn += 1
            await asyncio.sleep(0)
        assert json.loads(await answer)["report"] == {str(n): n for n in range(5 * TOGETHER)}
    assert max(turns.values()) == TOGETHER


async def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    (answer,) = await answers(tmp_path, line_of(Watch(names=["prot"])))
    assert answer["error"] == "nothing here has the name 'prot'; did you mean 'port'?"
