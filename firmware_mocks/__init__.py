"""Firmware mocks: sans-I/O stand-ins for hardware. They import nothing of hilgw.

A mock is an object with this shape (duck-typed; `firmware_mocks.base.Mock` is the base class):

* `baud_rate`: int, the rate its UART runs at now; `bits_per_byte`: 10 for 8N1.
* `host_baud`: int | None, written by the host before `receive`: the rate the client has set.
* `receive(data: bytes, now: int)`: bytes from the client; `now` is integer monotonic nanoseconds.
* `advance(now: int)`: time has passed; do what is due.
* `take(now: int) -> bytes`: bytes the UART sends now (empties the buffer).
* `next_deadline() -> int | None`: when `advance` wants to be called next.
* `set(name: str, value: str)`: a parameter by name, text as typed; ValueError says what is allowed.
* `reset(now)`: power cycle. `switch_off()`: no power until then.
* `set_modem_line(name, on, now)`, where the hardware has a pin on them: the client switched its
  "dtr" or "rts".
* `clear_to_send`: bool, where the firmware has flow control: whether the client may send now.
"""
