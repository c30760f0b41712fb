"""The program and the configuration of docs/controllers.md run, and do what the page describes."""

import re
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.docs.reading import pages
from tests.e2e.running import Gateway, patient, run, run_program

pytestmark = pytest.mark.process

PAGE = pages("controllers", "python-api")
FILES = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert set(FILES) == {"brain.py", "rover.yaml"}
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_program_drives_to_the_wall_and_reports_it_by_radio(folder: Path) -> None:
    assert run("check", "rover.yaml", cwd=folder).stderr == ""
    with Gateway(folder, ["--config", "rover.yaml", *patient("rover")]) as gateway:
        wait_until(lambda: re.search(r"rover\.tx +ch 12 +\"wall at \d+\"", gateway.text()))


# As declared in the reference manual of Webots, for the functions of the example.
HEADERS = {
    "robot.h": """
        typedef unsigned short WbDeviceTag;
        int wb_robot_init(void);
        int wb_robot_step(int duration);
        void wb_robot_cleanup(void);
        double wb_robot_get_basic_time_step(void);
        WbDeviceTag wb_robot_get_device(const char *name);
    """,
    "motor.h": """
        #include <webots/robot.h>
        void wb_motor_set_position(WbDeviceTag tag, double position);
        void wb_motor_set_velocity(WbDeviceTag tag, double velocity);
    """,
}
# In the place of libController: prints its calls, and ends the controller after three steps.
LIBRARY = """
    #include <stdio.h>
    #include <webots/motor.h>
    static int steps;
    int wb_robot_init(void) { puts("init"); return 0; }
    int wb_robot_step(int duration) { printf("step %d\\n", duration); return ++steps < 3 ? 0 : -1; }
    void wb_robot_cleanup(void) { puts("cleanup"); }
    double wb_robot_get_basic_time_step(void) { return 32.0; }
    WbDeviceTag wb_robot_get_device(const char *name) { puts(name); return 7; }
    void wb_motor_set_position(WbDeviceTag tag, double at) { printf("%d at %g\\n", tag, at); }
    void wb_motor_set_velocity(WbDeviceTag tag, double v) { printf("%d with %g\\n", tag, v); }
"""


@pytest.mark.judge("gcc")
@pytest.mark.judge("make")
def test_the_example_in_c_is_built_by_its_make_file_and_runs(tmp_path: Path) -> None:
    home, headers = tmp_path / "home", tmp_path / "home" / "include" / "controller" / "c" / "webots"
    libraries = home / "lib" / "controller"
    headers.mkdir(parents=True)
    libraries.mkdir(parents=True)
    for name, text in HEADERS.items():
        (headers / name).write_text("#pragma once\n" + text)
    (tmp_path / "library.c").write_text(LIBRARY)
    for name, kind in (("brain.c", "c"), ("Makefile", "make")):
        [text] = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
        (tmp_path / name).write_text(text)
    given = {"WEBOTS_HOME": str(home), "LD_LIBRARY_PATH": str(libraries)}
    given["CC"] = "gcc -Wall -Wextra -Werror"

    def done(*words: str) -> str:
        made = run_program(*words, cwd=tmp_path, timeout_s=120, **given)
        assert made.returncode == 0, made.stderr
        return made.stdout

    library = str(libraries / "libController.so")
    done("gcc", "-shared", "-fPIC", "-I", str(headers.parent), "library.c", "-o", library)
    done("make", "brain")
    expected = ["init", "left_wheel", "7 at inf", "7 with 4", *["step 32"] * 3, "cleanup"]
    assert done("./brain").splitlines() == expected


def test_the_commands_of_the_page_find_the_robot(folder: Path) -> None:
    """On a port where nothing listens: each one gets as far as the connection of its program."""
    for command in re.findall(r"^    hilgw (exec [^#\n]*\S)", PAGE, re.MULTILINE):
        arguments = command.split()
        (folder / "brain.py").write_text("import os; print(os.environ['WEBOTS_CONTROLLER_URL'])")
        yaml = FILES["rover.yaml"].replace(
            "kind: python\n", 'kind: webots\n      listen: "tcp://127.0.0.1:1234"\n'
        )
        text = re.sub(r"^.*(file|restart):.*\n", "", yaml, flags=re.M)
        (folder / "rover.yaml").write_text(text)
        done = run(*arguments, cwd=folder)
        assert (done.stdout, done.stderr) == ("tcp://127.0.0.1:1234/rover\n", "")
