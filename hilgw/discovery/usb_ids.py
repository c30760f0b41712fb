"""What a USB serial port probably is, by its ids. Converters sit in many products."""

from __future__ import annotations

_KNOWN: dict[tuple[int, int], str] = {
    (0x0403, 0x6001): "FTDI FT232R converter: XBee Explorer, many boards",
    (0x0403, 0x6010): "FTDI FT2232 converter, two ports",
    (0x0403, 0x6011): "FTDI FT4232 converter, four ports",
    (0x0403, 0x6014): "FTDI FT232H converter: ROBOTIS U2D2",
    (0x0403, 0x6015): "FTDI FT230X converter: Digi XBee USB adapter, XBee Explorer",
    (0x04D8, 0xFD08): "USB IR Toy v2",
    (0x04D8, 0x000A): "Microchip CDC device",
    (0x067B, 0x2303): "Prolific PL2303 converter",
    (0x10C4, 0xEA60): "Silicon Labs CP210x converter: RYLR998 and HC-12 adapters, ESP32 boards",
    (0x1A86, 0x7523): "WCH CH340 converter: HC-12 adapters, Arduino clones",
    (0x1A86, 0x55D4): "WCH CH9102 converter: ESP32 boards",
    (0x2341, 0x0043): "Arduino Uno",
    (0x2341, 0x0042): "Arduino Mega 2560",
    (0x2341, 0x8036): "Arduino Leonardo",
    (0x239A, 0x800B): "Adafruit board",
    (0x2E8A, 0x0005): "Raspberry Pi Pico, MicroPython",
    (0x2E8A, 0x000A): "Raspberry Pi Pico",
    (0x303A, 0x1001): "Espressif ESP32 with USB",
}

_MAKERS: dict[int, str] = {
    0x0403: "FTDI converter",
    0x10C4: "Silicon Labs converter",
    0x1A86: "WCH converter",
    0x2341: "Arduino board",
    0x239A: "Adafruit board",
    0x2E8A: "Raspberry Pi board",
    0x303A: "Espressif board",
}


def probably(vid: int | None, pid: int | None) -> str:
    """In words; empty when nothing can be said."""
    if vid is None or pid is None:
        return ""
    return _KNOWN.get((vid, pid)) or _MAKERS.get(vid, "")
