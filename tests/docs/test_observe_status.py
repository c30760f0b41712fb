"""docs/status.md: `hilgw status` and `hilgw metrics`, beside the gateway that the page names."""

import json
import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hilgw.protocols.gateway.metrics import FAMILIES
from tests.docs.reading import pages
from tests.e2e.running import Gateway, run

PAGE = pages("status")


@pytest.mark.process
def test_status_and_metrics_show_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "run" / "hilgw").mkdir(
        0o700, parents=True
    )  # else those of other folders are looked for
    assert run("status", cwd=tmp_path).returncode == 5
    arguments = ["--config", "uart", "--metrics", "127.0.0.1:0"]
    with Gateway(tmp_path, arguments) as gateway:
        done = run("status", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown = re.search(r"\$ hilgw status\n(.*?)```", PAGE, re.S)
        assert shown is not None
        for line in shown[1].splitlines():
            assert re.search(pattern(line), done.stdout), (line, done.stdout)
        assert "\x1b" not in done.stdout
        (status,) = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        assert status["ports"]["uart0"]["state"] == "up"
        hops = [row.split("`")[1] for row in PAGE.split("| hop |")[1].splitlines()[2:9]]
        assert hops == list(status["latency"])
        printed = run("metrics", cwd=tmp_path)
        assert printed.returncode == 0
        assert re.search(
            r'hilgw_port_up\{config=".*uart.yaml",pid="\d+",port="uart0"\} 1.0', printed.stdout
        )
        url = re.search(r"metrics at (http://\S+)", gateway.text())
        assert url is not None
        with urllib.request.urlopen(url[1]) as answer:
            served = answer.read().decode()
    for text in (printed.stdout, served):
        names = {family.name for family in text_string_to_metric_families(text)}
        assert names == {name.removesuffix("_total") for name, *_ in FAMILIES} | {
            "hilgw_latency_seconds"
        }


def pattern(line: str) -> str:
    """Of a line of the page, whatever its numbers are."""
    words = [re.sub(r"^[\d.]+(,?)$", r"NUMBER\1", word) for word in line.split()]
    return r" +".join(map(re.escape, words)).replace("NUMBER", r"[\d.e+]+")
