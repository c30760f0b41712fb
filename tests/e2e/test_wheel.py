"""The wheel has all that a user needs who has no checkout."""

import email
import json
import os
import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest
import yaml

from hilgw.config.shipped import HEADER
from tests.e2e.running import ROOT, run, run_program

URL = "https://code.example.org/lab/hilgw"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    environment = os.environ | {"HILGW_URL": URL}
    subprocess.run([*pip, *options], check=True, capture_output=True, env=environment)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_an_example_and_its_schema(unpacked: Path, tmp_path: Path) -> None:
    done = run("example", "xbee", cwd=tmp_path, PYTHONPATH=str(unpacked))
    first, _, rest = done.stdout.partition("\n")
    assert rest == (ROOT / "configs" / "xbee.yaml").read_text().partition("\n")[2]
    named = tmp_path / first.removeprefix(HEADER)
    assert named.is_relative_to(unpacked)
    editor = jsonschema.Draft202012Validator(json.loads(named.read_text()))
    editor.validate(json.loads(json.dumps(yaml.safe_load(done.stdout))))
    assert not editor.is_valid({"version": 1, "adapters": {"a": {"kind": "xbe"}}})
    done = run("schema", "--write", cwd=tmp_path, PYTHONPATH=str(unpacked))
    assert done.returncode == 0
    assert json.loads((tmp_path / "hilgw.schema.json").read_text()) == editor.schema


def test_what_an_index_shows(unpacked: Path) -> None:
    (info,) = unpacked.glob("*.dist-info")
    shown = email.message_from_bytes((info / "METADATA").read_bytes())
    urls = dict(each.split(", ") for each in shown.get_all("Project-URL"))
    assert urls["Source"] == URL
    assert {"Homepage", "Documentation", "Changelog", "Issues"} < urls.keys()
    every = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown.get_payload())
    images = [link for image, link in every if image]
    links = [link for image, link in every if not image and link.startswith(URL)]
    assert len(links) > 20
    assert all(link.startswith("https://") for _, link in every)
    files = f"{URL}/blob/v{shown['Version']}/"
    for link in [
        *(image.replace("/raw/", "/blob/") for image in images),
        *links,
        urls["Documentation"],
        urls["Changelog"],
    ]:
        assert (ROOT / link.removeprefix(files)).is_file(), link
    assert {"xbee", "mock", "robotics"} < set(shown["Keywords"].split(","))
    versions = [each.rpartition(" :: ")[2] for each in shown.get_all("Classifier")]
    assert {"3.11", "3.12"} < set(versions)
    (scripts,) = info.glob("entry_points.txt")
    assert "hilgw = hilgw.__main__:main" in scripts.read_text()


def test_links_are_text_where_no_address_is_known() -> None:
    build = runpy.run_path(str(ROOT / "tools" / "hatch_build.py"))
    readme = (ROOT / "README.md").read_text()
    shown = build["for_index"](readme, "", "v1")
    assert "](docs/" not in shown
    assert "All pages: the book; `tools/docs` builds it" in shown
    kept = "[a](https://b.example) [c](#d) `[e](f.md)`\n```\n[g](h.md)\n```\n"
    assert build["for_index"](kept, "", "v1") == kept
    for url, made in (("https://x/y", "![i](https://x/y/raw/v1/docs/i.svg)"), ("", "i")):
        assert build["for_index"]("![i](docs/i.svg)", url, "v1") == made
    assert build["repository_of"]({"HILGW_URL": "https://x/y/"}) == "https://x/y"
    for wrong in ("x/y", "ftp://x/y", "https://"):
        with pytest.raises(ValueError, match="is not the address of a repository"):
            build["repository_of"]({"HILGW_URL": wrong})


TEST_OF_A_USER = """
from pathlib import Path

import hilgw


def test_pong(gateway):
    assert Path(hilgw.__file__).is_relative_to(UNPACKED)
    assert not Path("configs").exists()
    gateway("configs/xbee.yaml", seed=7).wait_for(b"pong 1", source="xbee0")
"""


def test_mocks_and_the_fixtures_of_pytest(unpacked: Path, tmp_path: Path) -> None:
    done = run("mock", "--list", cwd=tmp_path, PYTHONPATH=str(unpacked))
    assert "xbee" in done.stdout
    text = TEST_OF_A_USER.replace("UNPACKED", repr(str(unpacked)))
    (tmp_path / "test_mine.py").write_text(text)
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    tested = run_program(*test, cwd=tmp_path, PYTHONPATH=str(unpacked))
    assert tested.returncode == 0, tested.stdout


def test_it_installs_and_runs_the_shipped_example(wheel: Path, tmp_path: Path) -> None:
    """In a fresh venv; the libraries are those of the tests, so that it needs no network."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python, hilgw = venv / "bin" / "python", venv / "bin" / "hilgw"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-index"]
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True, capture_output=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    (site, libraries) = (
        subprocess.run([each, "-c", where], check=True, capture_output=True, text=True).stdout
        for each in (str(python), sys.executable)
    )
    (Path(site.strip()) / "libraries.pth").write_text(libraries)
    command = [str(python), "-c", "import hilgw; print(hilgw.__file__)"]
    done = run_program(*command, cwd=tmp_path, PYTHONPATH="")
    assert Path(done.stdout.strip()).is_relative_to(venv), done.stderr
    done = run_program(str(hilgw), "--version", cwd=tmp_path, PYTHONPATH="")
    assert done.returncode == 0 and "missing" not in done.stdout, done.stdout
    example = [str(hilgw), "--config", "xbee", "--duration", "1s"]
    done = run_program(*example, cwd=tmp_path, PYTHONPATH="")
    assert done.returncode == 0 and "ready" in done.stdout, done.stderr
