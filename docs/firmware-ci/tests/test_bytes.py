"""The firmware alone: its bytes on the line. The test is the other end."""

TEMP_ASKED = bytes.fromhex("08 74 65 6d 70 3f 76 c4 00")
TEMP_21_5 = bytes.fromhex("0c 74 65 6d 70 20 32 31 2e 35 8e 73 00")


def test_it_answers(virtual_port, firmware):
    line = virtual_port(framing="cobs-crc16")
    firmware(line.path)
    line.write(TEMP_ASKED)
    assert line.read(len(TEMP_21_5)) == TEMP_21_5
    assert line.host_baud == 115200


def test_noise_costs_at_most_the_packet_it_runs_into(virtual_port, firmware):
    line = virtual_port(framing="cobs-crc16")
    firmware(line.path)
    line.write(bytes(range(255, 0, -1)) + TEMP_ASKED + TEMP_ASKED)
    assert line.read(len(TEMP_21_5)) == TEMP_21_5


def test_a_wrong_crc_is_not_answered(virtual_port, firmware):
    line = virtual_port(framing="cobs-crc16")
    firmware(line.path)
    line.write(TEMP_ASKED.replace(b"\x76", b"\x77") + TEMP_ASKED)
    assert line.read(len(TEMP_21_5)) == TEMP_21_5
    assert line.read_all() == b""


def test_it_goes_on_after_a_bad_line(virtual_port, firmware):
    line = virtual_port(framing="cobs-crc16", seed=4, noise=0.5, loss=0.05)
    firmware(line.path)
    for _ in range(20):
        line.write(TEMP_ASKED)
    line.spoil()  # the line is good again
    line.write(b"\0" + TEMP_ASKED)
    assert line.read_until(TEMP_21_5)
