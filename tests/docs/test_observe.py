"""docs/observe.md, status.md and examples/plot_sensor.py, beside the gateway that they name."""

import json
import re
import runpy
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hilgw.engine.control_socket.listener import control_folder
from hilgw.protocols.gateway.metrics import FAMILIES
from tests.client.several import running, with_robots
from tests.client.test_gateway import Reporting
from tests.docs.reading import pages
from tests.e2e.running import COMMAND, Gateway, run, start

PAGE = pages("observe", "scripts", "status")
EXAMPLES = re.findall(r"```text\n\$ hilgw (watch.*?)(?: \| .*?)?\n(.*?)```", PAGE, re.S)


@pytest.mark.process
def test_each_command_shows_what_the_page_shows(tmp_path: Path) -> None:
    assert len(EXAMPLES) == 4
    with Gateway(tmp_path, ["--config", "uart"]):
        for command, shown in EXAMPLES:
            words = [*COMMAND, *shlex.split(command)]
            process = start(tmp_path, *words, stdout=subprocess.PIPE, text=True)
            wanted = [pattern(line) for line in shown.splitlines()] or [re.compile(r'"packet"')]
            while wanted:
                line = process.stdout.readline()
                assert line, command
                wanted = [each for each in wanted if not each.search(line)]
            process.terminate()
            process.communicate()


def pattern(line: str) -> re.Pattern[str]:
    """Of a line of the page, whatever the time and the number of the packet are."""
    line = re.sub(r"\b6 (B|bytes)", r"N \1", re.sub(r"(ping|pong) \d+", r"\1 N", line))
    _, *words = line.split()
    text = re.sub(r"( [0-9a-f]{2})+(?= |$)", " HEX", " ".join(words))
    text = r" +".join(map(re.escape, text.split()))
    return re.compile(text.replace("HEX", "[0-9a-f ]+").replace("N", r"\d+"))


STATUS_PAGE = pages("status")


@pytest.mark.process
def test_status_and_metrics_show_what_the_page_shows(tmp_path: Path) -> None:
    arguments = ["--config", "uart", "--metrics", "127.0.0.1:0"]
    with Gateway(tmp_path, arguments) as gateway:
        done = run("status", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown = re.search(r"\$ hilgw status\n(.*?)```", STATUS_PAGE, re.S)
        assert shown is not None
        for line in shown[1].splitlines():
            assert re.search(pattern_status(line), done.stdout), (line, done.stdout)
        (status,) = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        hops = [row.split("`")[1] for row in STATUS_PAGE.split("| hop |")[1].splitlines()[2:9]]
        assert hops == list(status["latency"])
        printed = run("metrics", cwd=tmp_path)
        assert printed.returncode == 0
        url = re.search(r"metrics at (http://\S+)", gateway.text())
        assert url is not None
        with urllib.request.urlopen(url[1]) as answer:
            served = answer.read().decode()
    for text in (printed.stdout, served):
        names = {family.name for family in text_string_to_metric_families(text)}
        assert names == {name.removesuffix("_total") for name, *_ in FAMILIES} | {
            "hilgw_latency_seconds"
        }


def pattern_status(line: str) -> str:
    """Of a line of the page, whatever its numbers are."""
    words = [re.sub(r"^[\d.]+(,?)$", r"NUMBER\1", word) for word in line.split()]
    return r" +".join(map(re.escape, words)).replace("NUMBER", r"[\d.e+]+")


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
