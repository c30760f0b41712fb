"""What pages show: commands, configurations and links are real, pictures are those of the tool."""

import json
import re
import shlex
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw import plugins
from hilgw.cli.parser import parse
from hilgw.config.load import load_config
from hilgw.config.model import GatewayConfig, RobotConfig
from hilgw.web.layout import PAGES as WEB_PAGES
from tests.docs.reading import DOCS, blocks, pages
from tests.e2e.running import ROOT, run, run_program

PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(DOCS.parent / f"{name}.md" for name in ("README", "SAFETY")),
]
# Pages whose files use what their own tests install or record, or warn of what they are about.
ELSEWHERE = ("controller-kinds", "replay")
WITH_WARNINGS = ("import-world", "service", "webots-gateway-robot")


def commands() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"^(?:    |\$ )hilgw (.*)$", text, re.M):
            yield page, re.split(r" \| | > | &|  ", line)[0]


def files() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Files that are whole, robots that are, and adapters with their airs."""
    whole, robot = ({field.name for field in fields(kind)} for kind in (GatewayConfig, RobotConfig))
    for page in PAGES:
        for block in re.findall(r"^```yaml.*?\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            data = yaml.safe_load(block)
            if data.keys() <= robot:
                data = {"robots": {"rover": data}}
            if data.keys() <= whole and page.stem not in ELSEWHERE:
                airs = {each.get("air") for each in data.get("adapters", {}).values()} - {None}
                yield page, {"version": 1, "airs": {air: {} for air in airs}, **data}


def test_each_command_is_one_of_hilgw(capsys: pytest.CaptureFixture[str]) -> None:
    shown = list(commands())
    assert len(shown) > 80
    for page, line in shown:
        try:
            parse(shlex.split(line))
        except SystemExit as end:
            assert end.code == 0, (page.name, line, capsys.readouterr().err)


def test_each_configuration_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "brain.py").touch()
    (tmp_path / "poses.csv").write_text("0,drone,0,0,1,0,0,0,1\n")
    shown = list(files())
    assert len(shown) > 30
    for page, data in shown:
        (tmp_path / "f.yaml").write_text(yaml.safe_dump(data))
        warnings = load_config(str(tmp_path / "f.yaml")).warnings
        assert not warnings or page.stem in WITH_WARNINGS, (page.name, *map(str, warnings))


BESIDE = ("README", "CHANGELOG", "CONTRIBUTING", "SAFETY", "SECURITY")
LINKED = [*(DOCS.parent / f"{name}.md" for name in BESIDE), *sorted(DOCS.rglob("*.md"))]


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(link: str, page: Path) -> bool:
    target, _, anchor = link.partition("#")
    file = (page.parent / target).resolve() if target else page
    return file.exists() and (not anchor or anchor in anchors(file))


def test_links_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in LINKED
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))
        if not link.startswith(("http://", "https://"))
    ]
    assert len(links) > len(LINKED)
    assert [f"{page.name}: {link}" for page, link in links if not leads_somewhere(link, page)] == []


def test_each_page_can_be_reached_from_the_readme() -> None:
    reached, ahead = set(), [LINKED[0]]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)", prose(page))
        ahead += {(page.parent / link).resolve() for link in links} - reached
    assert set(LINKED) - reached == set()


TESTING_PAGE = pages("testing", "conformance")
EXAMPLES = blocks("python", TESTING_PAGE)


@pytest.mark.process
def test_its_examples_pass(tmp_path: Path) -> None:
    for number, example in enumerate(EXAMPLES):
        (tmp_path / f"test_example_{number}.py").write_text(example)
    for folder in ("configs", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider"]
    files = sorted(file.name for file in tmp_path.glob("*.py"))
    done = run_program(*command, *files, cwd=tmp_path, timeout_s=240)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.findall(r"^test_example_(\d)\.py \.+ ", done.stdout, re.MULTILINE) == list("0123")


@pytest.mark.process
def test_its_commands_run_faster_than_real_time(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    section = TESTING_PAGE.split("## CI faster than real time")[1].split("\n## ")[0]
    commands = re.findall(r"^    hilgw (.*)$", section, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = run(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "of simulated time, in " in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["ledger"]["adds_up"]


FOLDER = ROOT / "docs" / "pictures"
MOVIE = FOLDER / "terminal.svg"
PICTURES = sorted(FOLDER.glob("*.svg"))
STILLS = [path for path in PICTURES if path != MOVIE]
SVG = "{http://www.w3.org/2000/svg}"
PICTURES_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Width of a letter of a wide sans-serif (DejaVu Sans), in its size: most letters are narrower.
PLAIN_EM, BOLD_EM = 0.60, 0.69


@pytest.mark.process
def test_none_is_stale() -> None:
    command = [sys.executable, str(ROOT / "tools" / "draw_pictures"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0), "run tools/draw_pictures"


def width_of(text: ET.Element) -> float:
    em, size = (BOLD_EM, 15) if text.get("class") == "title" else (PLAIN_EM, 13)
    return len(text.text or "") * em * size


@pytest.mark.parametrize("path", STILLS, ids=lambda path: path.stem)
def test_words_fit_their_box_and_all_fits_the_picture(path: Path) -> None:
    root = ET.parse(path).getroot()
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    texts = {id(text) for text in root.iter(f"{SVG}text")}
    for group in root.iter(f"{SVG}g"):
        (rect,) = group.findall(f"{SVG}rect")
        left, top, wide, high = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        assert 0 < left < left + wide < width and 0 < top < top + high < height
        for text in group.findall(f"{SVG}text"):
            texts.discard(id(text))
            assert width_of(text) <= wide - 4, text.text
            assert top + 12 < float(text.attrib["y"]) < top + high - 4, text.text
    for text in root.iter(f"{SVG}text"):
        if id(text) in texts:  # outside a box
            x, half = float(text.attrib["x"]), width_of(text) / 2
            assert x - half >= 0 and x + half <= width, text.text
            assert 12 < float(text.attrib["y"]) < height - 4, text.text
    assert root.findtext(f"{SVG}title")


def test_each_is_on_a_page_and_each_picture_of_a_page_exists() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PICTURES_PAGES
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", page.read_text("utf-8"))
        if not target.startswith("https:")
    }
    assert shown >= set(PICTURES)
    assert all(path.is_file() for path in shown)
    assert "pictures/idea.svg" in (ROOT / "README.md").read_text("utf-8")[:1500]


def test_each_kind_of_hardware_has_its_wiring() -> None:
    page = pages("wiring")
    drawn = {path.stem.removeprefix("wiring-") for path in FOLDER.glob("wiring-*.svg")}
    assert drawn >= set(plugins.find(plugins.ADAPTERS)) - {"uart", "text"}
    assert {"rs485", "arduino"} <= drawn
    for name in drawn:
        assert f"(pictures/wiring-{name}.svg)" in page


MOST_BYTES = 150_000
SCREENS = [(1280, "dark"), (1280, "light"), (390, "dark"), (390, "light")]
NAMES = [name for _, name, _ in WEB_PAGES]


def picture_of(name: str, width: int, scheme: str) -> str:
    return f"web-{name.lower()}-{width}-{scheme}.png"


def shown_as(name: str) -> str:
    return f"![The page {name}](pictures/{picture_of(name, 1280, 'light')})"


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_its_pictures(name: str) -> None:
    assert shown_as(name) in pages("web"), "run tools/screenshots"
    for width, scheme in SCREENS:
        data = (FOLDER / picture_of(name, width, scheme)).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", data[16:20]) == (width,)
        assert len(data) <= MOST_BYTES


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    known = {picture_of(name, *screen) for name in NAMES for screen in SCREENS}
    assert {each.name for each in FOLDER.glob("web-*.png")} == known
