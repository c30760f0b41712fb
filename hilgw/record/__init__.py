"""Recordings: the traffic of a gateway, in files that Wireshark opens."""
