"""A control socket that only shows, as of `hilgw bridge` and `hilgw mock`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from hilgw.client.connection import line_of
from hilgw.engine.control_server import LookServer, Watched
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.observer import Observers
from hilgw.protocols.gateway.requests import REQUESTS, Disarm, Find, Identify, Report, Watch
from hilgw.transports.base import Scheduler

SHOWN = ("identify", "find", "watch", "report")


def answers(tmp_path: Path, *lines: bytes) -> list[dict[str, Any]]:
    """All on one connection."""

    async def main() -> list[dict[str, Any]]:
        timer: Timer = Timer(asyncio.get_running_loop())
        scheduler: Scheduler = timer
        watched = Watched(Observers(), scheduler, lambda: {"bytes": 3}, lambda: ["port", "tcp"])
        server = LookServer(watched, str(tmp_path / "control"), config="hilgw bridge x")
        await server.start()
        reader, writer = await asyncio.open_unix_connection(tmp_path / "control")
        found = []
        try:
            for line in lines:
                writer.write(line)
                found.append(json.loads(await reader.readline()))
        finally:
            writer.close()
            await server.close()
            timer.close()
        return found

    return asyncio.run(main())


def test_it_shows_what_the_program_has(tmp_path: Path) -> None:
    asked = (Identify(), Find("part", ["port", "p"]), Report(), Watch(names=["port"]))
    identity, found, report, watch = answers(tmp_path, *map(line_of, asked))
    assert identity["config"] == "hilgw bridge x" and identity["pid"]
    assert found["found"] == ["port"]
    assert report["report"] == {"bytes": 3}
    assert watch["ok"] is True


def test_it_does_nothing_else_and_the_connection_stays(tmp_path: Path) -> None:
    others = [do for do in REQUESTS if do not in SHOWN]
    lines = [b'{"do": "%s", "version": 2}\n' % do.encode() for do in others]
    stop, *rest, known = answers(tmp_path, line_of(Disarm(all=True)), *lines, line_of(Identify()))
    assert all("error" in each for each in (stop, *rest)) and known["ok"] is True
    assert stop["error"] == "disarm is not for this program: it can only be watched"


def test_a_line_that_is_not_a_request_is_answered_and_the_connection_stays(tmp_path: Path) -> None:
    lines = (b"\xff\n", b"[]\n", b"{\n", b'{"do": 3}\n', b'{"do": "watch", "version": 3}\n')
    *wrong, last = answers(tmp_path, *lines, line_of(Identify()))
    assert all("error" in each and each["version"] == 2 for each in wrong)
    assert wrong[-1]["client_version"] == 3 and wrong[-1]["exit_code"] == 5
    assert "version 2" in wrong[-1]["error"] and "version 3" in wrong[-1]["error"]
    assert last["ok"] is True


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    (answer,) = answers(tmp_path, line_of(Watch(names=["prot"])))
    assert answer["error"] == "nothing here has the name 'prot'; did you mean 'port'?"
