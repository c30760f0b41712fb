"""docs/examples/plot_sensor.py, beside a real gateway; a mock of matplotlib draws."""

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hilgw.engine.control_socket.listener import control_folder
from tests.client.several import running, with_robots
from tests.client.test_gateway import Reporting

SCRIPT = Path(__file__).parent.parent.parent / "docs" / "examples" / "plot_sensor.py"


def run_script(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
    runpy.run_path(str(SCRIPT))


def test_it_plots_what_the_sensor_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    pyplot: Any = ModuleType("matplotlib.pyplot")
    pyplot.plot = lambda times, values: drawn.update(times=list(times), values=list(values))
    pyplot.xlabel = pyplot.ylabel = lambda text: drawn.setdefault("labels", []).append(text)
    pyplot.show = lambda: drawn.update(shown=True)
    package: Any = ModuleType("matplotlib")
    package.pyplot = pyplot
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with running(control_folder(), a=with_robots("cab")) as gateways:
        with Reporting(gateways, 1.5, 2.5):
            run_script(monkeypatch, "cab.gps", "1")
        with pytest.raises(SystemExit, match=r"no value of cab\.gps in 0\.01 s"):
            run_script(monkeypatch, "cab.gps", "0.01")
        with pytest.raises(SystemExit, match=r"did you mean 'cab'"):
            run_script(monkeypatch, "caab", "1")
    assert drawn["values"] == [1.5, 2.5] and drawn["shown"] and len(drawn["times"]) == 2
    assert drawn["labels"][0] == "time (s)"


def test_without_matplotlib_the_fix_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        run_script(monkeypatch, "cab.gps")
