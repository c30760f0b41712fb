"""`hilgw web`: the page, in a browser."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.cli.declaration import Command, Option

if TYPE_CHECKING:
    from hilgw.web.sources import Recorded


def _token(text: str) -> tuple[str, Path]:
    role, colon, file = text.partition(":")
    if not colon:
        return "monitor", Path(text)
    if role not in ("monitor", "drive", "admin"):
        raise argparse.ArgumentTypeError(f"{role!r} is not a role: monitor, drive or admin")
    return role, Path(file)


COMMANDS = {
    "web": Command(
        description="Serves a page that shows all gateways of this user, until Ctrl-C. It prints "
        "the URL, with a token for this run; who opens the page without it can look and stop all "
        "robots, nothing more. An address that other hosts reach needs --token and --certificate. "
        "With FILE, the same pages show a recording, with a time slider.",
        epilog="examples: hilgw web\n"
        "          hilgw web --port 8080\n"
        "          hilgw web run.pcapng\n"
        "          hilgw web --host 0.0.0.0 --name lab.local --certificate lab.pem "
        "--token drive:lab.token",
        options=(
            Option(
                "file", metavar="FILE", nargs="?", type=Path, help="a recording, e.g. run.pcapng"
            ),
            Option("--host", metavar="ADDRESS", default="127.0.0.1", help="where it listens"),
            Option(
                "--port",
                metavar="N",
                type=int,
                default=0,
                help="STOP ALL has N + 1; 0: any free ones",
            ),
            Option(
                "--name", metavar="HOST", default="", help="of this machine, as others reach it"
            ),
            Option(
                "--token",
                metavar="[ROLE:]FILE",
                action="append",
                default=[],
                type=_token,
                help="of visitors from other hosts; ROLE: monitor (default), drive or admin",
            ),
            Option("--certificate", metavar="FILE", type=Path, help="PEM file, for TLS"),
            Option(
                "--key", metavar="FILE", type=Path, help="PEM file; not given: --certificate has it"
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Serve the page until a signal.

    Raises:
        HilgwError: A package, a token or a certificate is missing, the port is in use, or the file
            is not a recording.
    """
    from hilgw.web.server import WebSettings, serve

    names = ("host", "port", "name", "certificate", "key")
    settings = {name: getattr(args, name) for name in names}
    recorded = None if args.file is None else _recorded(args.file)
    web = WebSettings(tokens=tuple(args.token), **settings)
    serve(
        web,
        lambda url: print(url, flush=True),
        lambda text: print(f"hilgw: {text}", file=sys.stderr, flush=True),
        recorded,
    )


def _recorded(path: Path) -> "Recorded":
    from hilgw.assemble.ports import decoders_of, with_frames
    from hilgw.record.recording import Recording
    from hilgw.web.sources import Recorded

    head = Recording(path).head
    return Recorded(path, with_frames=lambda each: with_frames(each, decoders_of(head, str(path))))
