"""`hilgw new-adapter NAME`, `hilgw new-body NAME`: write the files of a new kind."""

import argparse
import keyword
import re
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from hilgw import plugins
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.files import write
from hilgw.config.shipped import HEADER, SCHEMA, header
from hilgw.errors import HilgwError, UsageError, printable, quoted

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
TYPES = ("radio", "serial", "infra-red")
BEGIN = """\
  test_adapter_describes_itself
  test_mapping_is_documented
  test_vectors_are_sent
  test_vectors_are_received
  test_payload_sizes"""  # of the tests that fail, those to begin with
YAML_WORDS = ("true", "false", "null", "yes", "no", "on", "off")  # not text in a configuration


class Part(NamedTuple):
    """A kind of part that can be made.

    folder: of its modules in a checkout. templates: of the part, its configuration and its test;
    conformance: the import of the test's rules.
    """

    noun: str
    folder: str
    templates: tuple[str, str, str]
    conformance: str
    group: plugins.Group

    @property
    def name(self) -> str:
        return self.group.export.lower()


ADAPTER = Part(
    "an adapter",
    "adapters",
    ("adapter.py", "config.yaml", "test.py"),
    "from hilgw.testing import AdapterConformance, Vector\n",
    plugins.ADAPTERS,
)
BODY = Part(
    "a body",
    "bodies",
    ("body.py", "body_config.yaml", "body_test.py"),
    "from hilgw.testing import BodyConformance\n",
    plugins.BODIES,
)


INTO = Option(
    "--into",
    metavar="DIR",
    help="a checkout of hilgw, or the folder of the distribution (default: this folder if it "
    "is a checkout, else hilgw-NAME)",
)


COMMANDS = {
    "new-adapter": Command(
        description="Writes the files of a new adapter: the adapter, its firmware mock, a "
        "configuration and a test. In a checkout of hilgw they are part of it, else a distribution "
        "of their own. Until the adapter keeps all rules, the test fails and names the parts to "
        "fill in.",
        epilog="example: hilgw new-adapter buzz --type serial",
        options=(
            Option("name", metavar="NAME", help="name of the kind, as in kind: NAME"),
            Option(
                "--type",
                choices=TYPES,
                default="radio",
                help="type of signal (Webots' Emitter.type)",
            ),
            INTO,
        ),
        defaults={"part": ADAPTER},
    ),
    "new-body": Command(
        description="Writes the files of a new body: the body, its firmware mock, a configuration "
        "and a test. In a checkout of hilgw they are part of it, else a distribution of their own. "
        "They are complete for an invented robot with two wheels, and the test passes: change body "
        "and mock by the manual of the robot.",
        epilog="example: hilgw new-body rover",
        options=(
            Option("name", metavar="NAME", help="name of the kind, as in kind: NAME"),
            INTO,
        ),
        defaults={"part": BODY, "type": ""},
    ),
}


def run(args: argparse.Namespace) -> None:
    """Write the files and print their names.

    Raises UsageError when the name is not valid or a file exists, HilgwError when one cannot be
    written.
    """
    part: Part = args.part
    name = _valid(args.name, part)
    distribution = f"hilgw-{name.replace('_', '-')}"
    root = Path(args.into or ("." if _is_checkout(Path()) else distribution))
    inside = _is_checkout(root)
    files = (_of_checkout if inside else _of_distribution)(part, name, _mock_of(part, args.type))
    folders = (f"hilgw/{part.folder}", "firmware_mocks", f"tests/{part.folder}")
    _refuse_taken(root, [*files, *(f"{folder}/{name}" for folder in folders if inside)])
    if not inside and name in (*plugins.names(part.group), *plugins.names(plugins.MOCKS)):
        raise UsageError(
            f"{part.noun} or a mock {quoted(name)} is installed already", fix="choose another name"
        )
    module, own_mock, config, test = list(files)[:4]
    words = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "type": args.type,
        "distribution": distribution,
        "package": f"hilgw_{name}",
        "noun": part.noun,
        "group": part.group.name,
        "part": part.name,
        "export": part.group.export,
        "interface": str(plugins.INTERFACE),
        "adapter_file": module,
        "mock_file": own_mock,
        "config_file": config,
        "begin": BEGIN,
        "imports": _imports(part, module, inside=inside),
        "header": f"{HEADER}../docs/{SCHEMA}" if inside else header(root),
    }
    _write(root, files, words)
    tests = f"tools/test {test}" if inside else f"cd {root} && pip install -e '.[test]' && pytest"
    page = ", and tools/generate_docs for its page" if inside else ""
    if part is BODY:
        print(f"\nnext: {tests}\npasses on the mock; hilgw {config} runs it")
    else:
        print(
            f"\nnext: {tests}\nnames the parts to fill in; begin with:\n{BEGIN}\n"
            f"and then the rest; when all pass: hilgw {config}{page}"
        )


def _mock_of(part: Part, type: str) -> str:
    if part is BODY:
        return "body_mock.py"
    return "mock_on_wire.py" if type == "serial" else "mock_on_air.py"


def _valid(name: str, part: Part) -> str:
    is_word = re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) and not keyword.iskeyword(name)
    if not is_word or name in (*YAML_WORDS, *part.group.shared):
        problem = f"{quoted(name)} is not a valid {part.name} name"
        example = "my_robot" if part is BODY else "my_radio"
        raise UsageError(problem, fix=f"write it like {example}")
    return name


def _is_checkout(folder: Path) -> bool:
    return all((folder / part).is_dir() for part in ("hilgw/adapters", "firmware_mocks", "configs"))


def _of_checkout(part: Part, name: str, mock: str) -> dict[str, str]:
    module, config, test = part.templates
    return {
        f"hilgw/{part.folder}/{name}.py": module,
        f"firmware_mocks/{name}.py": mock,
        f"configs/{name}.yaml": config,
        f"tests/{part.folder}/test_{name}.py": test,
    }


def _of_distribution(part: Part, name: str, mock: str) -> dict[str, str]:
    module, config, test = part.templates
    return {
        f"hilgw_{name}/{part.name}.py": module,
        f"hilgw_{name}/mock.py": mock,
        f"{name}.yaml": config,
        f"tests/test_{name}.py": test,
        f"hilgw_{name}/__init__.py": "__init__.py",
        "pyproject.toml": "pyproject.toml",
    }


def _refuse_taken(root: Path, paths: Iterable[str]) -> None:
    taken = [path + "/" * (root / path).is_dir() for path in paths if (root / path).exists()]
    if taken:
        raise UsageError(
            f"these files exist already: {', '.join(taken)}", fix="choose another name"
        )


def _imports(part: Part, module: str, *, inside: bool) -> str:
    """Return the imports of the test; hilgw is a third party for another distribution."""
    name = module.removesuffix(".py").replace("/", ".")
    own = f"from {name} import {part.group.export}\n"
    return own + part.conformance if inside else f"{part.conformance}\n{own}"


def _write(root: Path, files: Mapping[str, str], words: Mapping[str, str]) -> None:
    for path, template in files.items():
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        target = root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HilgwError(
                f"cannot write: {error.strerror or error}", where=printable(str(target))
            ) from None
        write(str(target), string.Template(text).substitute(words))
        print(target if root != Path() else path)
