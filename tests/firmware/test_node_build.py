"""The C library as its users compile it: strictly, on three processors, and small."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.firmware.emulated import elf
from tests.firmware.node import SOURCES, STRICT

pytestmark = pytest.mark.process
SMALL = ("-Os", "-ffunction-sections", "-fdata-sections")
COMPILERS = {
    "gcc": (),
    "avr-gcc": ("-mmcu=atmega328p",),
    "arm-none-eabi-gcc": ("-mcpu=cortex-m4", "-mthumb"),
}
LIBRARY = SOURCES / "src" / "hilgw_node.c"
PACKETS = """
#include "hilgw_node.h"
static uint8_t in[64], out[64], packet[34];
static hilgw_link link;
extern volatile uint8_t data, state;
volatile uint8_t data, state;
int main(void) {
  hilgw_link_init(&link, &hilgw_cobs_crc16, HILGW_BUFFER(packet), HILGW_BUFFER(in),
                  HILGW_BUFFER(out));
  for (;;) {
    if (state & 1) hilgw_byte_in(&link, data);
    if (hilgw_read(&link, state)) hilgw_send(&link, link.payload, link.length);
    const int16_t byte = hilgw_byte_out(&link);
    if (byte >= 0) data = (uint8_t)byte;
  }
}
"""


def output_of(*command: str | Path, cwd: Path | None = None) -> str:
    """Return what a program prints that must exit with 0."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def sizes_of(linked: Path) -> tuple[int, ...]:
    """Return the bytes of text, data and bss of a program for an AVR."""
    return tuple(map(int, output_of("avr-size", linked).splitlines()[1].split()[:3]))


@pytest.mark.parametrize(
    "compiler", [pytest.param(name, marks=pytest.mark.judge(name)) for name in COMPILERS]
)
@pytest.mark.parametrize("level", ["-Os", "-O2"])
def test_it_compiles_without_a_warning(compiler: str, level: str, tmp_path: Path) -> None:
    command = [compiler, *STRICT, level, *COMPILERS[compiler], "-c", str(LIBRARY)]
    assert output_of(*command, "-o", tmp_path / "node.o") == ""


@pytest.mark.judge("cppcheck")
def test_cppcheck_finds_nothing() -> None:
    checks = "--enable=warning,style,performance,portability", "--std=c99", "--error-exitcode=1"
    assert output_of("cppcheck", *checks, "-q", LIBRARY.parent, SOURCES / "examples") == ""


def test_it_needs_no_memory_but_its_own() -> None:
    text = LIBRARY.read_text() + LIBRARY.with_suffix(".h").read_text()
    assert not re.findall(r"\b(?:malloc|calloc|realloc|free)\s*\(", text)
    included = set(re.findall(r"#include\s+(\S+)", text))
    assert included == {'"hilgw_node.h"', "<string.h>", "<stdint.h>", "<stdbool.h>"}
    assert len(text.splitlines()) <= 1500


@pytest.mark.judge("avr-gcc")
@pytest.mark.judge("avr-size")
def test_its_size_on_an_atmega328p(tmp_path: Path) -> None:
    source, linked = tmp_path / "main.c", tmp_path / "main.elf"
    source.write_text(PACKETS)
    command = ["avr-gcc", *STRICT, *SMALL, "-mmcu=atmega328p", f"-I{LIBRARY.parent}"]
    output_of(*command, source, LIBRARY, "-Wl,--gc-sections", "-o", linked)
    text, data, bss = sizes_of(linked)
    assert text + data <= 2048
    assert data + bss <= 64 + 64 + 34 + 200  # the buffers, and its own


@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
def test_the_shipped_firmware_is_the_wall_follower(tmp_path: Path) -> None:
    """Byte by byte, where the compiler is the one that made it."""

    def image(file: Path) -> bytes:
        output_of("arm-none-eabi-objcopy", "-O", "binary", file, tmp_path / "image")
        return (tmp_path / "image").read_bytes()

    shipped = SOURCES.parents[2] / "configs" / "wall_follower.elf"
    version = output_of("arm-none-eabi-gcc", "-dumpversion").strip()
    built = elf("wall_follower", "netduinoplus2")
    assert len(image(shipped)) > 3000
    if version == "12.2.1":
        assert image(built) == image(shipped), "make BOARD=netduinoplus2, and strip it into configs"


CORE = Path("/usr/share/arduino/hardware/arduino/avr")
OLD_COMPILER = ("-DDECIMAL_DIG=9",)  # Debian's avr-gcc 5 does not define it for C++
SKETCHES = sorted((SOURCES / "examples").glob("*/*.ino"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that compile and link a sketch with Arduino's core, which is compiled here."""
    if not CORE.is_dir():
        message = "the Arduino core is not installed: apt-get install arduino-core-avr"
        if os.environ.get("HILGW_REQUIRE_JUDGES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("core")
    board = ["-mmcu=atmega328p", "-DF_CPU=16000000L", "-DARDUINO=10819", *SMALL]
    board += [f"-I{CORE / 'cores' / 'arduino'}", f"-I{CORE / 'variants' / 'standard'}"]
    for kind, compiler in (("c", ["avr-gcc", "-std=gnu11"]), ("cpp", ["avr-g++", "-std=gnu++11"])):
        files = sorted(map(str, (CORE / "cores" / "arduino").glob(f"*.{kind}")))
        more = ["-fno-exceptions", "-fpermissive", *OLD_COMPILER] if kind == "cpp" else []
        output_of(*compiler, *board, *more, "-w", "-c", *files, cwd=folder)
    return [*board, *sorted(map(str, folder.glob("*.o")))]


@pytest.mark.judge("avr-gcc")
@pytest.mark.judge("avr-size")
@pytest.mark.parametrize("sketch", SKETCHES, ids=lambda path: path.stem)
def test_a_sketch_compiles_and_fits(sketch: Path, core: list[str], tmp_path: Path) -> None:
    """As the Arduino IDE compiles it for an Uno, whose flash it fills to less than a third."""
    source, library = tmp_path / "sketch.cpp", tmp_path / "node.o"
    source.write_text(f"#include <Arduino.h>\n{sketch.read_text()}")
    include, linked = f"-I{LIBRARY.parent}", tmp_path / "sketch.elf"
    options = [each for each in core if not each.endswith(".o")]
    objects = [each for each in core if each.endswith(".o")]
    output_of("avr-gcc", *STRICT, *options, "-c", LIBRARY, "-o", library)
    warn = ["-std=gnu++11", "-fno-exceptions", "-Wall", "-Wextra", "-Werror"]
    warn += ["-Wno-missing-field-initializers"]
    command = ["avr-g++", *warn, *options, include, source, library, *objects]
    output_of(*command, "-Wl,--gc-sections", "-o", linked)
    text, data, bss = sizes_of(linked)
    assert text + data < 32256 // 3
    assert data + bss < 2048 // 2


def test_it_is_a_library_of_arduino() -> None:
    """Arduino's specification 1.5: the fields of a library, but for `url`, the address of the
    repository, which belongs to a release (docs/changing.md)."""
    lines = (SOURCES / "library.properties").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    needed = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category")
    assert [each for each in needed if not fields.get(each)] == []
    assert "url" not in fields
    assert fields["category"] == "Communication"
    assert (SOURCES / "src" / fields["includes"]).is_file()
    assert all(sketch.stem == sketch.parent.name for sketch in SKETCHES)
    assert len(SKETCHES) >= 2
