"""The page Recordings: those that run, and the files of each gateway's folder."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import quote, urlencode

from hilgw.client.gateway import Gateway
from hilgw.web.actions import Actions, button
from hilgw.web.content import content, scrolling
from hilgw.web.markup import Markup, element, joined, table
from hilgw.web.model import UP, GatewayView
from hilgw.web.pages.overview import general

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from hilgw.web.model import Bench
    from hilgw.web.page import Page

NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,120}\.pcapng")
MOST_FILES = 200
FILES_S = 1.0  # the folder is read anew
PIECE_BYTES = 256 * 1024
DOWNLOAD = "/recordings/file"
NO_FILES = "Here are no recordings yet."


class File(NamedTuple):
    """A recording in the folder. changed_s: since 1970."""

    name: str
    size: int
    changed_s: float


def files_of(folder: str) -> list[File]:
    """The recordings in a folder, the newest first; none of a folder that cannot be read."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    found.append(File(entry.name, about.st_size, about.st_mtime))
    except OSError:
        return []
    return sorted(found, key=lambda each: -each.changed_s)


def opened(folder: str, name: str) -> tuple[BinaryIO, int] | None:
    """A recording of the folder, and its size now. None: there is none of this name, which may be
    a stranger's: a link is not followed."""
    if not NAME.fullmatch(name):
        return None
    try:
        descriptor = os.open(Path(folder) / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb"), about.st_size


def pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """So many of its bytes: one that grows has an end, too."""
    with file:
        while size > 0 and (data := file.read(min(size, PIECE_BYTES))):
            size -= len(data)
            yield data


def folder_of(view: GatewayView) -> str:
    """ "": it is of another version, or not known yet."""
    return str(view.status.get("recordings", {}).get("folder", ""))


def add_download(app: Starlette, bench: Bench) -> None:
    """Serves the files to visitors who may: a packet may be as secret as the robot's plan."""
    from starlette.responses import Response, StreamingResponse

    from hilgw.web.access import GRANT

    def download(request: Request) -> Response:
        given = request.query_params
        with bench.lock:
            view = bench.gateways.get(given.get("gateway", ""))
            folder = "" if view is None else folder_of(view)
        name = given.get("name", "")
        if not request.scope[GRANT].allows("drive"):
            return Response("Open the URL that hilgw web printed, to download.", 403)
        if not folder or (found := opened(folder, name)) is None:
            return Response("There is no such recording.", 404)
        file, size = found
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "content-length": str(size),
        }
        return StreamingResponse(
            pieces(file, size), media_type="application/octet-stream", headers=headers
        )

    app.add_route(DOWNLOAD, download, methods=["GET"])


def build(page: Page) -> None:
    top, shown = content(), dict[str, Section]()

    def update() -> None:
        found = page.bench.gateways
        top.set_content(general(list(found.values()), page.bench.problem))
        views = {key: view for key, view in found.items() if folder_of(view)}
        for key in shown.keys() - views.keys():
            shown.pop(key).card.delete()
        for key, view in views.items():
            if key not in shown:
                shown[key] = Section(page, view)
            shown[key].update(view)

    page.refresh(update, FILES_S)


class Section:
    """A gateway on the page. Only for a visitor who may, there are its controls."""

    def __init__(self, page: Page, view: GatewayView) -> None:
        from nicegui import ui

        self._page, self._gateway = page, Gateway(Path(view.key))
        self._running: Any = None
        with ui.element("section").classes("gateway") as self.card:
            title = Path(view.config).stem or Path(view.key).name
            ui.html(element("h2", title, title=view.config))
            self._actions = Actions(page)
            if page.may("drive"):
                self._controls()
            self._table, self._files = scrolling("Running"), scrolling("Files")

    def _controls(self) -> None:
        from nicegui import ui

        gateway, do = self._gateway, self._actions.do
        with ui.element("div").classes("tools"):
            name = ui.input("Name").props("dense outlined")
            button("Record", lambda: do(f"recording {name.value}", gateway.record, name.value))
            self._running = ui.select([], label="Running").props("dense outlined")
            button("End", self._end)
        with ui.element("div").classes("tools"):
            text = ui.input("Note").props("dense outlined")
            button("Write", lambda: self._write(text.value))

    async def _write(self, text: str) -> None:
        if text:
            await self._actions.do(f"noted: {text}", self._gateway.note, text)
        else:
            self._actions.lacks("the note is empty")

    async def _end(self) -> None:
        if name := self._running.value:
            await self._actions.do(f"recorded {name}", self._gateway.end_record, name)
        else:
            self._actions.lacks("no recording runs")

    def update(self, view: GatewayView) -> None:
        """All of it is as the gateway is now."""
        running = view.status["recordings"]["running"]
        if self._running is not None and self._running.options != list(running):
            chosen = self._running.value
            value = chosen if chosen in running else next(iter(running), None)
            self._running.set_options(list(running), value=value)
        now = {Path(each["file"]).name for each in running.values()}
        is_up = view.state(self._page.bench.now()) == UP
        rows = [
            (name, each["file"], _size(each["bytes"]), each["lost"], each["error"])
            for name, each in running.items()
        ]
        head = ("name", "file", "size", "events lost", "why")
        self._table.set_content(table("Running", head, rows if is_up else []))
        self._table.set_visibility(bool(rows) and is_up)
        found = files_of(folder_of(view))
        self._files.set_content(_files(view, found, now, links=self._page.may("drive")))


def _files(view: GatewayView, found: list[File], running: set[str], *, links: bool) -> Markup:
    rows = []
    for each in found[:MOST_FILES]:
        where = f"{DOWNLOAD}?{urlencode({'gateway': view.key, 'name': each.name})}"
        name = element("a", each.name, href=where, download=each.name) if links else each.name
        changed = f"{datetime.fromtimestamp(each.changed_s).astimezone():%Y-%m-%d %H:%M:%S}"
        rows.append((name, _size(each.size), changed, "running" if each.name in running else ""))
    left = len(found) - MOST_FILES
    more = [element("p", f"{left} older ones are not shown", class_="dim")] if left > 0 else []
    none = [] if rows else [element("p", NO_FILES, class_="dim")]
    folder = element("p", element("code", folder_of(view)), class_="dim")
    columns = ("file", "size", "changed", "")
    return joined([folder, table("Files", columns, rows), *none, *more])


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
