"""Boards by their USB ids: what opening their port does, and where the ids come from."""

import re
from pathlib import Path

import pytest

from hilgw.discovery.ports import reset_notice, usb_ids


@pytest.mark.parametrize(
    ("ids", "boot_s", "words"),
    [
        ((0x2341, 0x0043), 0, "Arduino Uno: opening the port resets it, .* set boot_s: 2"),
        ((0x2341, 0x0042), 0, "Arduino Mega 2560: .* set boot_s: 2"),
        ((0x2341, 0x0043), 2.5, "Arduino Uno: opening the port resets it, hence boot_s: 2.5"),
        ((0x1A86, 0x7523), 0, "CH340, .* if opening the port resets the board, set boot_s: 2"),
        ((0x2341, 0x8036), 0, "Arduino Leonardo: opening the port does not reset it"),
        ((0x0403, 0x6015), 0, "^$"),
        ((None, None), 0, "^$"),
    ],
)
def test_known_boards_are_named_with_their_reset(
    ids: tuple[int | None, int | None], boot_s: float, words: str
) -> None:
    assert re.search(words, reset_notice(*ids, boot_s=boot_s))


def test_the_ids_are_those_of_the_usb_device_above_the_port(tmp_path: Path) -> None:
    device = tmp_path / "devices" / "usb1" / "1-2"
    interface = device / "1-2:1.0"
    interface.mkdir(parents=True)
    (device / "idVendor").write_text("2341\n")
    (device / "idProduct").write_text("0043\n")
    port = tmp_path / "tty" / "ttyACM0"
    port.mkdir(parents=True)
    (port / "device").symlink_to(interface)
    link = tmp_path / "by-id"
    link.symlink_to(tmp_path / "ttyACM0")
    assert usb_ids(str(link), tmp_path / "tty") == (0x2341, 0x0043)
    assert usb_ids("/dev/ttyS0", tmp_path / "tty") == (None, None)
    (device / "idVendor").write_text("garbage")
    assert usb_ids(str(link), tmp_path / "tty") == (None, None)
