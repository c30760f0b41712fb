"""`hilgw web`: the page, in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "web",
        description="Serves a page that shows all gateways of this user, until Ctrl-C. It prints "
        "the URL, with a token for this run; who opens the page without it can look and stop all "
        "robots, nothing more. An address that other hosts reach needs --token and --certificate.",
        epilog="examples: hilgw web\n"
        "          hilgw web --port 8080\n"
        "          hilgw web --host 0.0.0.0 --name lab.local --certificate lab.pem "
        "--token drive:lab.token",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("--host", metavar="ADDRESS", default="127.0.0.1", help="where it listens")
    option("--port", metavar="N", type=int, default=0, help="STOP ALL has N + 1; 0: any free ones")
    option("--name", metavar="HOST", default="", help="of this machine, as others reach it")
    option(
        "--token",
        metavar="[ROLE:]FILE",
        action="append",
        default=[],
        type=_token,
        help="of visitors from other hosts; ROLE: monitor (default), drive or admin",
    )
    option("--certificate", metavar="FILE", type=Path, help="PEM file, for TLS")
    option("--key", metavar="FILE", type=Path, help="PEM file; not given: --certificate has it")


def run(args: argparse.Namespace) -> int:
    """Until a signal. HilgwError: a package, a token or a certificate is missing, or the port is
    in use."""
    from hilgw.web.server import WebSettings, serve

    names = ("host", "port", "name", "certificate", "key")
    settings = {name: getattr(args, name) for name in names}
    serve(WebSettings(tokens=tuple(args.token), **settings), lambda url: print(url, flush=True))
    return 0


def _token(text: str) -> tuple[str, Path]:
    role, colon, file = text.partition(":")
    if not colon:
        return "monitor", Path(text)
    if role not in ("monitor", "drive", "admin"):
        raise argparse.ArgumentTypeError(f"{role!r} is not a role: monitor, drive or admin")
    return role, Path(file)
