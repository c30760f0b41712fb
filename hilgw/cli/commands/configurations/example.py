"""`hilgw example [NAME]`: prints shipped configurations."""

import argparse
import os
import re
from pathlib import Path

from hilgw.cli.declaration import Command, Option
from hilgw.cli.output import files
from hilgw.cli.output.text import table
from hilgw.config.shipped import HEADER, folder, header
from hilgw.errors import UsageError, quoted, suggest

COMMANDS = {
    "example": Command(
        description="Prints a shipped configuration; without NAME, lists them. Each runs on mocks "
        "without changes. Its first line names the schema for editors: hilgw.schema.json, if this "
        "folder has it (hilgw schema --write), else that of the installation.",
        epilog="example: hilgw example xbee > my.yaml && hilgw --config my.yaml; "
        "hilgw example python-controller --write",
        options=(
            Option("name", metavar="NAME", nargs="?", help="a configuration, e.g. xbee"),
            Option(
                "--write",
                action="store_true",
                help="write NAME.yaml here instead, with the program that it uses",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print or write an example, or list them all.

    Raises:
        UsageError: The name is unknown, or the file exists.
    """
    if args.write:
        if args.name is None:
            raise UsageError(
                "--write: no configuration given", fix="e.g. hilgw example xbee --write"
            )
        _write(args.name.removesuffix(".yaml"), example(args.name))
        return
    if args.name is not None:
        print(_for_editors(example(args.name)), end="")
        return
    for line in table((name, title(text)) for name, text in examples().items()):
        print(line)


def examples() -> dict[str, str]:
    """Return every shipped configuration, from a wheel or a checkout: name -> text."""
    shipped = folder()
    if shipped is None:
        return {}
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(shipped.glob("*.yaml"))}


def example(name: str) -> str:
    """Return the text of one shipped configuration.

    Raises:
        UsageError: The name is unknown.
    """
    known = examples()
    text = known.get(name.removesuffix(".yaml"))
    if text is None:
        raise UsageError(f"unknown example {quoted(name)}", fix=suggest(name, known))
    return text


_PROGRAM = re.compile(r"\bfile: *([\w-]+\.py)\b")


def _write(name: str, text: str) -> None:
    shipped = folder() or Path()
    contents = {f"{name}.yaml": _for_editors(text)}
    for program in _PROGRAM.findall(text):
        contents[program] = (shipped / program).read_text(encoding="utf-8")
    for path in filter(os.path.lexists, contents):
        raise UsageError("this file exists", where=path, fix="rename it, or use another folder")
    for path, content in contents.items():
        files.write(path, content)
    print(f"written: {', '.join(contents)}; hilgw {name}.yaml runs it")


def _for_editors(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return header(Path()) + newline + rest if first.startswith(HEADER) else text


def title(text: str) -> str:
    """Return the first sentence of the comment of a configuration, without the line for editors."""
    words: list[str] = []
    for line in text.splitlines():
        comment = line.removeprefix("#").strip()
        if not line.startswith("#") or (words and not comment):
            break
        if comment and not comment.startswith("yaml-language-server"):
            words.append(comment)
    sentence, end, _ = f"{' '.join(words)} ".partition(". ")
    return sentence.strip() + end.strip()
