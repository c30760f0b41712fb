"""The rylr998 adapter: conformance, and what is LoRa's own."""

from __future__ import annotations

from hilgw.adapters._rylr_settings import Modulation
from hilgw.adapters.rylr998 import ADAPTER
from hilgw.testing import AdapterConformance, Vector

FAST = Modulation(spreading_factor=7, bandwidth_khz=500)


class TestRylr998(AdapterConformance):
    adapter = ADAPTER
    settings = {"address": 50, "modulation": FAST}
    far = {"address": 51, "modulation": FAST}
    common = {"baudRate": 115200, "channel": 5}
    check_bits = 8
    vectors = (
        Vector(
            data=b"HELLO",
            sends=b"AT+SEND=0,5,HELLO\r\n",
            hears=b"+RCV=50,5,HELLO,-99,40\r\n",
            rssi_dbm=-99,
            address="50",
        ),
        Vector(data=b"a,b\r\n,-1,2\r\n+OK", hears=b"+RCV=7,15,a,b\r\n,-1,2\r\n+OK,-40,11\r\n"),
    )
