"""The workflows of .github: every Python as root and as a user; their commands exist."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".github" / "workflows"


def jobs(name: str) -> dict[str, Any]:
    loaded = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    assert loaded[True]  # YAML 1.1 reads the key `on` as true
    found: dict[str, Any] = loaded["jobs"]
    return found


def commands(name: str) -> list[str]:
    steps = [step for job in jobs(name).values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    return [step["run"] for step in steps if "run" in step]


def test_each_python_is_tested_as_root_and_as_a_user() -> None:
    matrix = jobs("tests.yml")["tests"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert matrix == {"python": ["3.11", "3.12", "3.13", "3.14"], "user": ["root", "user"]}
    assert matrix["python"] == versions
    as_user, as_root = commands("tests.yml")
    assert as_user == "tools/test" and as_root.startswith("sudo ")


def test_the_tools_they_run_exist() -> None:
    lines = [line for file in FOLDER.glob("*.yml") for line in commands(file.name)]
    tools = re.findall(r"(?<!\S)tools/\w+", " ".join(lines))
    assert tools and all(os.access(ROOT / tool, os.X_OK) for tool in tools)
