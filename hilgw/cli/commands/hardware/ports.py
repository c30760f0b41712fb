"""`hilgw ports`: the serial ports of this machine."""

import argparse
from typing import Any

from hilgw.cli.declaration import Command, Option

COMMANDS = {
    "ports": Command(
        description="Lists the serial ports: path, USB ids, location, the names to put into a "
        "configuration (by-id of the device, by-path of its socket, for devices without serial "
        "numbers), and the programs that have the port open.",
        epilog="example: hilgw ports --json",
        options=(Option("--json", action="store_true", help="print as JSON"),),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print the ports."""
    ports = describe_ports()
    if args.json:
        from hilgw.cli.output.text import print_json

        print_json(ports)
        return
    if not ports:
        print("no serial ports; plug in a device, or try hilgw mock xbee --link ./xbee")
    for port in ports:
        usb = f"{port['vid']:04x}:{port['pid']:04x}" if port["vid"] is not None else ""
        words = [port["path"], usb, port["description"], port["serial"], port["location"]]
        print("  ".join(word for word in words if word))
        if port["probably"]:
            print(f"    probably: {port['probably']}")
        for name in filter(None, (port["by_id"], port["by_path"])):
            print(f"    {name}")
        for holder in port["holders"]:
            print(f"    open in {holder}")


def describe_ports() -> list[dict[str, Any]]:
    """Describe each port.

    Returns:
        Path, by-id and by-path names, USB ids, serial number, location, description and holders of
        each port.
    """
    from hilgw.discovery.ports import probable_device, stable_name
    from hilgw.transports.serial import tty
    from hilgw.transports.serial.port import list_ports

    return [
        {
            "path": info.path,
            "by_id": stable_name(info.path, "id"),
            "by_path": stable_name(info.path, "path"),
            "location": info.location,
            "vid": info.vid,
            "pid": info.pid,
            "serial": info.serial,
            "description": info.description,
            "probably": probable_device(info.vid, info.pid),
            "holders": [str(holder) for holder in tty.holders(info.path)],
        }
        for info in list_ports()
    ]
