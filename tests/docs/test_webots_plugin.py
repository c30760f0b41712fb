"""The page about the plug-in: its commands build it and run, its names agree with the code."""

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.plugin_host import Built
from tests.e2e.running import ROOT, run_program

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "webots-plugin.md").read_text(encoding="utf-8")
DECLARATIONS = """
#include <stddef.h>
#include <string.h>
enum { WB_MODE_SIMULATION, WB_MODE_CROSS_COMPILATION, WB_MODE_REMOTE_CONTROL };
const char *wb_robot_wwi_receive_text(void);
int wb_robot_get_mode(void);
void wb_robot_set_mode(int mode, const char *argument);
"""


@pytest.mark.judge("gcc", "make")
def test_its_make_builds_the_plugin_where_webots_looks(tmp_path: Path) -> None:
    Built(tmp_path)  # with the headers of a Webots
    (make,) = re.findall(r"^    (make .*)$", PAGE, re.MULTILINE)
    words = make.replace("/usr/local/webots", str(tmp_path / "webots")).replace(
        "$HOME", str(tmp_path)
    )
    done = run_program(*shlex.split(words), f"OUT={tmp_path}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (place,) = re.findall(r"`my_project(/plugins/\S+\.so)`", PAGE)
    assert Path(f"{tmp_path}/my_project{place}").is_file()


@pytest.mark.judge("gcc")
def test_its_c_code_compiles(tmp_path: Path) -> None:
    (code,) = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "code.c").write_text(DECLARATIONS + f"void poll_window(void) {{\n{code}}}\n")
    done = run_program("gcc", "-fsyntax-only", "-Wall", "-Werror", "code.c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
