"""The page Recordings: those that run on each gateway, and the files of each folder."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from urllib.parse import quote, urlencode

from hilgw.client.gateway import Gateway
from hilgw.view.gateway import UP, GatewayView
from hilgw.web.markup import Markup, content, element, joined, scrolling, table
from hilgw.web.model import Bench
from hilgw.web.page import Actions, Page, button
from hilgw.web.pages.overview import general

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,120}\.pcapng")
MOST_FILES = 200
FILES_S = 1.0  # the folder is read anew
PIECE_BYTES = 256 * 1024
DOWNLOAD = "/recordings/file"
END = """(e) => { const b = e.target.closest("[data-name]");
if (b) emit(b.dataset.name); }"""
_SECRET = secrets.token_bytes(32)  # of this run


class File(NamedTuple):
    """A recording in the folder. changed_s: since 1970."""

    name: str
    size: int
    changed_s: float


def files_of(folder: str) -> list[File]:
    """Return the recordings in a folder, the newest first; none of a folder that cannot be read."""
    files = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    files.append(File(entry.name, about.st_size, about.st_mtime))
    except OSError:
        return []
    return sorted(files, key=lambda each: -each.changed_s)


def opened(folder: str, name: str) -> tuple[BinaryIO, int] | None:
    """Return a recording of the folder, and its size now.

    None: there is none of this name, which may be a stranger's: a link is not followed.
    """
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
    """Yield this many of its bytes: one that grows has an end, too."""
    with file:
        while size > 0 and (data := file.read(min(size, PIECE_BYTES))):
            size -= len(data)
            yield data


def folder_of(view: GatewayView) -> str:
    """Return the folder; "": the gateway is of another version, or it is not known yet."""
    return str(view.status.get("recordings", {}).get("folder", ""))


def add_download(app: Starlette, bench: Bench) -> None:
    """Serve the files to visitors who may: a packet may be as secret as the robot's plan."""
    from starlette.responses import Response, StreamingResponse

    def download(request: Request) -> Response:
        given = request.query_params
        with bench.lock:
            view = bench.gateways.get(given.get("gateway", ""))
            folder = "" if view is None else folder_of(view)
        name = given.get("name", "")
        if not hmac.compare_digest(
            given.get("key", "").encode(), _key(given.get("gateway", ""), name)
        ):
            return Response("Open the URL that hilgw web printed, to download.", 403)
        if not folder or (recording := opened(folder, name)) is None:
            return Response("There is no such recording.", 404)
        file, size = recording
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "content-length": str(size),
        }
        return StreamingResponse(
            pieces(file, size), media_type="application/octet-stream", headers=headers
        )

    app.add_route(DOWNLOAD, download, methods=["GET"])


def build(page: Page) -> None:
    from nicegui import ui

    top, cards, shown = content(), ui.element("div"), dict[str, GatewaySection]()
    with ui.element("section").classes("gateway") as below:
        files = scrolling("Files")

    def update() -> None:
        gateways = page.bench.gateways
        top.set_content(general(list(gateways.values()), page.bench.problem))
        views = {key: view for key, view in gateways.items() if folder_of(view)}
        with cards:
            page.sections(shown, views, GatewaySection)
        files.set_content(files_of_all(views.values(), links=page.may("drive")))
        below.set_visibility(bool(views))

    page.refresh(update, FILES_S)


class GatewaySection:
    """A gateway on the page. Only for a visitor who may, there are its controls."""

    def __init__(self, page: Page, view: GatewayView) -> None:
        from nicegui import ui

        self._page, self._gateway = page, Gateway(Path(view.key))
        with ui.element("section").classes("gateway") as self.card:
            ui.html(element("h2", view.title, title=view.config))
            self._actions = Actions(page)
            if page.may("drive"):
                self._controls()
            self._table = scrolling("Running")
            self._table.on(
                "click",
                lambda event: self._actions.do(
                    f"recorded {event.args}", self._gateway.end_record, event.args
                ),
                js_handler=END,
            )

    def _controls(self) -> None:
        from nicegui import ui

        gateway, do = self._gateway, self._actions.do
        with ui.element("div").classes("tools"):
            name = ui.input("Name").props("dense outlined")
            button("Record", lambda: do(f"recording {name.value}", gateway.record, name.value))
        with ui.element("div").classes("tools"):
            text = ui.input("Note").props("dense outlined")
            button("Write", lambda: self._write(text.value))

    async def _write(self, text: str) -> None:
        if text:
            await self._actions.do(f"noted: {text}", self._gateway.note, text)
        else:
            self._actions.lacks("the note is empty")

    def update(self, view: GatewayView) -> None:
        """Show the recordings that run now."""
        rows = running(view, may_end=self._page.may("drive"))
        is_up = view.state(self._page.bench.now()) == UP
        self._table.set_content(rows)
        self._table.set_visibility(bool(rows) and is_up)


def running(view: GatewayView, *, may_end: bool) -> Markup:
    """Return HTML of the recordings that run, each with the size of its file now.

    `may_end` adds a button that ends it.
    """
    rows = []
    for name, recording in view.status["recordings"]["running"].items():
        end = element("button", "End", data_name=name, aria_label=f"End {name}") if may_end else ""
        rows.append(
            (
                name,
                end,
                size_of(recording["file"]),
                recording["lost"],
                recording["error"],
                recording["file"],
            )
        )
    return table("Running", ("name", "", "size", "events lost", "why", "file"), rows)


def _key(gateway: str, name: str) -> bytes:
    """Return what the link to a file has, so that only who was shown it gets the file."""
    return hmac.digest(_SECRET, f"{gateway}\0{name}".encode(), "sha256").hex().encode()


def files_of_all(views: Iterable[GatewayView], *, links: bool) -> Markup:
    """Return HTML of the files of each folder to which these gateways record, each folder once."""
    folders: dict[str, list[GatewayView]] = {}
    for view in views:
        folders.setdefault(os.path.realpath(folder_of(view)), []).append(view)
    return joined(files_in(each, of, links=links) for each, of in folders.items())


def files_in(folder: str, views: list[GatewayView], *, links: bool) -> Markup:
    """Return HTML of the files of a folder, to which these gateways record."""
    rows, files = [], files_of(folder)
    of_each = (view.status["recordings"]["running"].values() for view in views)
    now = {os.path.realpath(each["file"]) for running in of_each for each in running}
    for file in files[:MOST_FILES]:
        given = {"gateway": views[0].key, "name": file.name}
        where = f"{DOWNLOAD}?{urlencode({**given, 'key': _key(*given.values())})}"
        name = element("a", file.name, href=where, download=file.name) if links else file.name
        changed = f"{datetime.fromtimestamp(file.changed_s).astimezone():%Y-%m-%d %H:%M:%S}"
        is_running = str(Path(folder) / file.name) in now
        rows.append((name, in_bytes(file.size), changed, "running" if is_running else ""))
    left = len(files) - MOST_FILES
    more = [element("p", f"{left} older ones are not shown", class_="dim")] if left > 0 else []
    none = [] if rows else [element("p", "Here are no recordings yet.", class_="dim")]
    of = f"folder of {', '.join(view.title for view in views)}: "
    head = element("p", of, element("code", folder), class_="dim")
    return joined([head, table("Files", ("file", "size", "changed", ""), rows), *none, *more])


def size_of(file: str) -> str:
    """Return the size of this file now; "" where there is none any more."""
    try:
        return in_bytes(Path(file).stat().st_size)
    except (OSError, ValueError):
        return ""


def in_bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
