"""`hilgw new-adapter NAME`: writes the files of a new adapter."""

from __future__ import annotations

import argparse
import keyword
import re
import string
from collections.abc import Iterable, Mapping
from pathlib import Path

from hilgw.config.shipped import HEADER, SCHEMA, header
from hilgw.errors import HilgwError, UsageError, printable, quoted

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
TYPES = ("radio", "serial", "infra-red")
YAML_WORDS = ("true", "false", "null", "yes", "no", "on", "off")  # not text in a configuration
PACKAGES = ("hilgw/adapters/NAME", "firmware_mocks/NAME", "tests/adapters/NAME")


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "new-adapter",
        description="Writes the files of a new adapter: the adapter, its firmware mock, a "
        "configuration and a test. In a checkout of hilgw they are part of it, else a distribution "
        "of their own. Until the adapter keeps all rules, the test fails and names the parts to "
        "fill in.",
        epilog="example: hilgw new-adapter buzz --type serial",
    )
    parser.add_argument("name", metavar="NAME", help="name of the kind, as in kind: NAME")
    parser.add_argument(
        "--type", choices=TYPES, default="radio", help="type of signal (Webots' Emitter.type)"
    )
    parser.add_argument(
        "--into",
        metavar="DIR",
        help="a checkout of hilgw, or the folder of the distribution (default: this folder if it "
        "is a checkout, else hilgw-NAME)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the files and prints their names; returns 0.

    Raises UsageError when the name is not valid or a file exists, HilgwError when one cannot be
    written.
    """
    name = _valid(args.name)
    distribution = f"hilgw-{name.replace('_', '-')}"
    root = Path(args.into or ("." if _is_checkout(Path()) else distribution))
    inside = _is_checkout(root)
    mock = "mock_on_wire" if args.type == "serial" else "mock_on_air"
    files = _of_checkout(name, mock) if inside else _of_distribution(name, mock)
    _refuse_taken(root, [*files, *(PACKAGES if inside else ())], name)
    if not inside:
        _refuse_installed(name)
    adapter, own_mock, config, test = list(files)[:4]
    words = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "type": args.type,
        "distribution": distribution,
        "package": f"hilgw_{name}",
        "adapter_file": adapter,
        "mock_file": own_mock,
        "config_file": config,
        "imports": _imports(adapter, inside=inside),
        "header": f"{HEADER}../docs/{SCHEMA}" if inside else header(root),
    }
    _write(root, files, words)
    tests = f"tools/test {test}" if inside else f"cd {root} && pip install -e '.[test]' && pytest"
    page = ", and tools/generate_docs for its page" if inside else ""
    print(f"\nnext: {tests}\nnames the parts to fill in; when it passes: hilgw {config}{page}")
    return 0


def _valid(name: str) -> str:
    """Raises UsageError when the name cannot be that of a kind."""
    is_word = re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) and not keyword.iskeyword(name)
    if not is_word or name in (*YAML_WORDS, "base"):
        what = f"{quoted(name)} is not a valid adapter name"
        raise UsageError(what, fix="write it like my_radio")
    return name


def _is_checkout(folder: Path) -> bool:
    return all((folder / part).is_dir() for part in ("hilgw/adapters", "firmware_mocks", "configs"))


def _of_checkout(name: str, mock: str) -> dict[str, str]:
    """Each file's template by its path: adapter, mock, configuration, test."""
    return {
        f"hilgw/adapters/{name}.py": "adapter.py",
        f"firmware_mocks/{name}.py": f"{mock}.py",
        f"configs/{name}.yaml": "config.yaml",
        f"tests/adapters/test_{name}.py": "test.py",
    }


def _of_distribution(name: str, mock: str) -> dict[str, str]:
    """The same four files of a distribution with entry points, and what makes it one."""
    return {
        f"hilgw_{name}/adapter.py": "adapter.py",
        f"hilgw_{name}/mock.py": f"{mock}.py",
        f"{name}.yaml": "config.yaml",
        f"tests/test_{name}.py": "test.py",
        f"hilgw_{name}/__init__.py": "__init__.py",
        "pyproject.toml": "pyproject.toml",
    }


def _refuse_installed(name: str) -> None:
    """Raises UsageError when a kind or a mock of this name is installed."""
    from hilgw import plugins

    if name in plugins.names(plugins.ADAPTERS) or name in plugins.names(plugins.MOCKS):
        what = f"an adapter or a mock {quoted(name)} is installed already"
        raise UsageError(what, fix="choose another name")


def _refuse_taken(root: Path, paths: Iterable[str], name: str) -> None:
    every = [path.replace("NAME", name) for path in paths]
    taken = [path + "/" * (root / path).is_dir() for path in every if (root / path).exists()]
    if taken:
        what = f"these files exist already: {', '.join(taken)}"
        raise UsageError(what, fix="choose another name")


def _imports(adapter: str, *, inside: bool) -> str:
    """Of the test; hilgw is a third party for another distribution."""
    own = f"from {adapter.removesuffix('.py').replace('/', '.')} import ADAPTER\n"
    conformance = "from hilgw.testing import AdapterConformance, Vector\n"
    return own + conformance if inside else f"{conformance}\n{own}"


def _write(root: Path, files: Mapping[str, str], words: Mapping[str, str]) -> None:
    for path, template in files.items():
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        target = root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(string.Template(text).substitute(words), encoding="utf-8")
        except OSError as error:
            what = f"cannot write: {error.strerror or error}"
            raise HilgwError(what, where=printable(str(target))) from None
        print(target if root != Path() else path)
