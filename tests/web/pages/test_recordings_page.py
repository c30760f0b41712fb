"""The page Recordings in a real browser: a recording is made, ended and downloaded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hilgw.record.recording import Recording
from tests.e2e.running import Gateway
from tests.web.pages.browser import Web, card, client_of, opened, press, release, wait_for

CONFIG = """
version: 1
record: {at_start: false, folder: kept}
robots: {rover: {devices: {tx: {node: Emitter, type: radio, channel: 1}}}}
"""
FILE = "kept <b>.yaml"
CLICKS = 2  # the second one is of what came after the first


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[Gateway]:
    (folder / FILE).write_text(CONFIG)
    run = folder / "run of kept.pcapng"
    with Gateway(folder, [FILE, "--record", run.name]) as started:
        yield started
    run.unlink()


def own(page: Any) -> Any:
    own_card = card(page, FILE)
    wait_for(own_card)
    return own_card


def files(page: Any, folder: Path) -> Any:
    """Its files on the page."""
    heading = page.get_by_role("region", name="Files").locator("p", has_text=str(folder / "kept"))
    wait_for(heading)
    assert heading.count() == 1
    return heading.locator("xpath=following-sibling::*[1]")


def test_a_recording_is_made_ended_and_downloaded_and_the_one_of_the_run_goes_on(
    folder: Path, gateway: Gateway, web: Web, chromium: Any
) -> None:
    with opened(chromium, web.at("recordings")) as page:
        own_card = own(page)
        running = own_card.get_by_role("region", name="Running")
        of_run = running.get_by_role("row", name=re.compile("^run of kept "))
        wait_for(of_run.get_by_text(re.compile("^[1-9].* kB$")))
        own_card.get_by_role("button", name="Write").click()
        wait_for(own_card.get_by_text("the note is empty"))
        own_card.get_by_label("Name").fill("../evil")
        own_card.get_by_role("button", name="Record", exact=True).click()
        wait_for(own_card.get_by_text("a name of 1 to 64"))
        own_card.get_by_label("Name").fill("bench.1")
        own_card.get_by_role("button", name="Record", exact=True).click()
        wait_for(running.get_by_text("bench.1.pcapng"))
        wait_for(files(page, folder).get_by_role("row", name=re.compile("bench.1.* running$")))
        own_card.get_by_label("Note").fill("antenna <turned>")
        own_card.get_by_role("button", name="Write").click()
        wait_for(own_card.get_by_text("noted: antenna <turned>"))
        own_card.get_by_role("button", name="End bench.1").click()
        wait_for(own_card.get_by_text("recorded bench.1"))
        wait_for(running.get_by_text("bench.1.pcapng"), "detached")
        wait_for(of_run)
        with page.expect_download() as download:
            files(page, folder).get_by_role("link", name="bench.1.pcapng").click()
        kept = Path(download.value.path())
        given = urlencode({"gateway": str(client_of(gateway).path), "name": "bench.1.pcapng"})
        url = web.at("recordings/file", acts=False)
        assert page.request.get(f"{url}?{given}").status == 403, "without a token"
        assert download.value.suggested_filename == "bench.1.pcapng"
        assert kept.read_bytes() == (folder / "kept" / "bench.1.pcapng").read_bytes()
        notes = [each["text"] for each in Recording(kept).events() if each["event"] == "notice"]
        assert "antenna <turned>" in notes

        # A file is the one that was pressed, and what came meanwhile follows.
        shown = files(page, folder)
        (folder / "kept" / "0.pcapng").touch()
        for count in range(CLICKS):
            press(page, shown.get_by_role("link", name=f"{count}.pcapng", exact=True))
            (folder / "kept" / f"{count + 1}.pcapng").touch()  # the first of the table
            with page.expect_download() as download:
                release(page)
            assert download.value.suggested_filename == f"{count}.pcapng"
            wait_for(shown.get_by_role("link", name=f"{count + 1}.pcapng", exact=True))
