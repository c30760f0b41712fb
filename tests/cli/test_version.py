"""`--version` is read off folder names; the standard library is the oracle."""

from importlib.metadata import version

import pytest

from hilgw import __version__
from hilgw.cli.main import main
from hilgw.cli.version import LIBRARIES


def test_it_names_the_libraries_and_their_c_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"hilgw {__version__} ")
    assert len(lines) == 1 + len(LIBRARIES)
    for line, name in zip(lines[1:], LIBRARIES, strict=True):
        assert line.split()[:2] == [name, version(name)]
    assert sum("(C)" in line or "pure Python" in line for line in lines) == 2
