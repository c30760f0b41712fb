"""A recording on the pages in a real browser: its slider, and what is shown at its time."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.record.recording import Recording
from tests.e2e.running import COMMAND, ROOT, run_program, wait_until
from tests.view.samples import recorded, sample
from tests.web.pages.browser import Web, opened, wait_for, wait_until_it_fits

CONFIG = str(ROOT / "configs" / "python-controller.yaml")
NAME, SECONDS = "a <b>.pcapng", 5
TIME = re.compile(r"([0-9.]+) of ([0-9.]+) s")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("recorded")
    options = ["--duration", f"{SECONDS}s", "--speed", "max", "--record", NAME]
    done = run_program(*COMMAND, "--config", CONFIG, *options, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / NAME


@pytest.fixture(scope="module")
def shown(recording: Path) -> Iterator[Web]:
    web = Web(recording.parent, recording.name)
    yield web
    assert web.end() == (130, "")


def times(page: Any) -> tuple[float, float]:
    match = TIME.search(page.locator(".playhead").inner_text())
    assert match is not None
    return float(match[1]), float(match[2])


def is_at(page: Any, seconds: str) -> None:
    wait_for(page.locator(".playhead").get_by_text(re.compile(rf" · {seconds} of ")))


def test_the_slider_leads_to_each_time_and_play_goes_on_on_each_page(
    recording: Path, shown: Web, chromium: Any
) -> None:
    assert Recording(recording).head["scene"]["objects"].keys() >= {"rover", "xbee0"}
    with opened(chromium, shown.at("robot")) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        wait_for(page.get_by_text("a recording"))
        wait_for(page.locator(".playhead").get_by_text(NAME))
        wheel = page.get_by_role("region", name="Motors").get_by_role("row").filter(has_text="left")

        def is_at_the_end() -> bool:  # the key again where the page was still connecting
            page.get_by_role("slider", name="Time in seconds").press("End")
            now, end = times(page)
            return end > 0 and end - now < 0.1

        wait_for(page.locator(".playhead").get_by_text(TIME))
        wait_until(is_at_the_end, what="the end of the recording")
        wait_for(wheel.first)
        assert page.get_by_role("button", name=re.compile("arm", re.IGNORECASE)).count() == 0
        now, end = times(page)
        assert now == pytest.approx(end, abs=0.1)
        times_ns = [each["time_ns"] for each in Recording(recording).events()]
        assert end == pytest.approx((times_ns[-1] - times_ns[0]) / 1e9, abs=0.1)
        assert end > SECONDS - 0.5
        page.keyboard.press("Home")
        is_at(page, "0.00")
        wait_for(wheel.first, "detached")
        page.get_by_role("combobox", name="Speed").click()
        page.get_by_role("option", name="16 x").click()
        page.get_by_role("button", name="Play").click()
        wait_for(wheel.first)
        wait_for(page.get_by_role("region", name="Sensors").get_by_text("ds_left"))
        is_at(page, f"{end:.2f}")
        wait_for(page.get_by_role("button", name="Play"))  # it stands at its end
        assert times(page) == (end, end)
        packets = page.get_by_role("region", name="Packets").get_by_role("row")
        frames = page.get_by_role("region", name="Decoded frames")
        has = {
            "Scene": [page.locator("[data-object=xbee0]")],
            "Traffic": [
                packets.filter(has_text="rover.tx").first,
                frames.get_by_text("xbee0").first,
            ],
        }
        for name, all_of in has.items():
            page.get_by_role("link", name=name, exact=True).click()
            for locator in all_of:
                wait_for(locator)
            page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    with opened(chromium, shown.at("/", acts=False)) as page:  # without the token
        wait_for(page.get_by_role("button", name="Play"))
        assert page.get_by_role("button", name="Play").is_disabled()
        assert page.get_by_role("slider").is_disabled()


def test_long_names_and_reasons_are_not_wider_than_a_telephone(
    tmp_path: Path, chromium: Any
) -> None:
    name, why = (
        "r" * 64,
        "no controller runs: start one; hilgw is listening on 192.168.100.200:10020",
    )
    status = sample("status")
    (known,) = status["status"]["robots"].values()
    status["status"]["robots"] = {name: {**known, "controller": {"text": why}}}
    armed = sample("armed", robot=name, text="armed: its motors may move")
    recorded(tmp_path / "r.pcapng", status, armed, sample("value", robot=name))
    web = Web(tmp_path, "r.pcapng")
    try:
        for path, text in (("robot", why), ("/", f"robot {name}")):
            with opened(chromium, web.at(path)) as page:
                wait_for(page.get_by_text("a recording"))
                page.get_by_role("slider", name="Time in seconds").press("End")
                wait_for(page.get_by_text(text).first)
                wait_until_it_fits(page)
    finally:
        web.end()
