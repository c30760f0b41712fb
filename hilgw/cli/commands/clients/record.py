"""`hilgw record NAME`: recordings of a running gateway; `hilgw note`: a remark in them."""

import argparse

from hilgw.cli.commands.clients.gateway_request import SELECTION, selected
from hilgw.cli.declaration import Command, Option

COMMANDS = {
    "record": Command(
        description="Begins a recording of all that passes through a running gateway, in the "
        "gateway's folder for recordings (`record:` in its file, else `recordings` where it was "
        "started), until `hilgw record NAME --end` or the end of the gateway. `hilgw --record "
        "FILE` records from the start.",
        epilog="examples: hilgw record antenna1\n"
        '          hilgw note "antenna turned"\n'
        "          hilgw record antenna1 --end",
        options=(
            Option("name", metavar="NAME", help="of its file, 1 to 64 of A-Z a-z 0-9 . _ -"),
            Option("--end", action="store_true", help="end this recording"),
            *SELECTION,
        ),
    ),
    "note": Command(
        description="Puts a remark into all recordings of a running gateway, its log and its "
        "terminal.",
        epilog='example: hilgw note "antenna turned"',
        options=(
            Option("text", metavar="TEXT", help="the remark"),
            *SELECTION,
        ),
    ),
}


def run_record(args: argparse.Namespace) -> None:
    """Begin or end the recording, and print its file.

    Raises:
        HilgwError: The gateway refuses.
    """
    from hilgw.client.gateway import Gateway

    gateway = Gateway.find(**selected(args))
    if not args.end:
        print(f"recording {gateway.record(args.name).file}")
        return
    done = gateway.end_record(args.name)
    lost = f"; {done.lost} events were lost" if done.lost else ""
    print(f"recorded {done.file}{lost}")


def run_note(args: argparse.Namespace) -> None:
    """Put the remark in.

    Raises:
        HilgwError: The gateway does not answer.
    """
    from hilgw.client.gateway import Gateway

    Gateway.find(**selected(args)).note(args.text)
