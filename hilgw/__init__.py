"""hilgw: a hardware-in-the-loop gateway for Webots Emitter and Receiver devices."""

__version__ = "0.2.0"
