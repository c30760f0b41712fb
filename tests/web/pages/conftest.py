"""One browser and one `hilgw web` for all tests of the pages.

They are in a package of their own: while the browser runs, its thread has an event loop.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Gateway
from tests.web.pages.browser import Web, browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this package have the browser."""
    waits = pytest.mark.wall_clock("a browser")
    for item in items:
        if item.path.parent == Path(__file__).parent:
            for mark in (pytest.mark.process, waits, pytest.mark.judge("chromium")):
                item.add_marker(mark)


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `web` and the gateways run. The page shows gateways of other tests, too."""
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="package")
def web(folder: Path) -> Iterator[Web]:
    """At its end it ends as it should."""
    web = Web(folder)
    yield web
    assert web.end() == (130, "")
    assert not (folder / ".nicegui").exists()


@pytest.fixture(scope="module")
def gateway(request: pytest.FixtureRequest, folder: Path) -> Iterator[Gateway]:
    """A gateway with the FILE and the CONFIG of the tests of a module."""
    (folder / request.module.FILE).write_text(request.module.CONFIG)
    with Gateway(folder, [request.module.FILE]) as running:
        yield running


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started
