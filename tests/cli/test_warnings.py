"""A run, a check and an explanation show what is legal and probably not meant."""

from pathlib import Path

import pytest

from hilgw.cli.main import main

TEXT = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {node: Emitter, type: radio}
adapters:
  arduino: {kind: uart, port: COM3, baudRate: 9601}
"""
REACHES_NOTHING = "radio, channel 0: reaches no hardware and no other robot; arduino is serial"


@pytest.mark.parametrize(
    "words", [["FILE", "--duration", "1ms"], ["check", "FILE"], ["explain", "FILE"]], ids=" ".join
)
def test_warnings_are_shown(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    Path("a.yaml").write_text(TEXT)
    main([word.replace("FILE", "a.yaml") for word in words])
    captured = capsys.readouterr()
    shown = " ".join((captured.err + captured.out).split())
    for warning in (REACHES_NOTHING, "did you mean 9600?", "is the name of a port on Windows"):
        assert warning in shown
