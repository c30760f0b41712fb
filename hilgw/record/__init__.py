"""Recordings: what passed through a gateway, in files that Wireshark opens."""
