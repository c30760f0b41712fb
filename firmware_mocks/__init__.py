"""Firmware mocks: sans-I/O models of devices on a serial line. They import nothing of hilgw.

A mock is an object with this shape (duck-typed; `firmware_mocks.base.Mock` is the base class):

* `baud_rate`: int, the rate of its UART now; `bits_per_byte`: 10 for 8N1.
* `host_baud`: int | None, written by the host before `receive`: the rate the client has set.
* `receive(data: bytes, now: int)`: bytes from the client; `now` is integer monotonic nanoseconds.
* `advance(now: int)`: time has passed; run what is due.
* `take(now: int) -> bytes`: the bytes that the UART sends now; they leave its buffer.
* `next_deadline() -> int | None`: the time of the next call of `advance`.
* `set(name: str, value: str)`: set a parameter, text as typed; ValueError names it and the values
  allowed.
* `reset(now)`: power cycle. `switch_off()`: no power until the next `reset`.
* `set_modem_line(name, on, now)`, where the hardware has a pin on one: the client switched its
  "dtr" or "rts".
* `clear_to_send`: bool, where the firmware has flow control: the client may send now.
* `network`: "tcp-server" or "tcp-client", where it is a network peer; then also `connect(now)` and
  `disconnect(now)`, which follow its connection, `closing`: it wants the connection closed, and
  `retry_s` of a client: seconds between two attempts to connect.
"""
