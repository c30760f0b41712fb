"""docs/observe.md: its commands, beside the gateway that it names."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.docs.reading import pages
from tests.e2e.running import COMMAND, Gateway, environment

PAGE = pages("observe", "scripts", "status")
EXAMPLES = re.findall(r"```text\n\$ hilgw (watch.*?)(?: \| .*?)?\n(.*?)```", PAGE, re.S)


@pytest.mark.process
def test_each_command_shows_what_the_page_shows(tmp_path: Path) -> None:
    assert len(EXAMPLES) == 4
    with Gateway(tmp_path, ["--config", "uart"]):
        for command, shown in EXAMPLES:
            words = [*COMMAND, *shlex.split(command)]
            process = subprocess.Popen(
                words, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
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
