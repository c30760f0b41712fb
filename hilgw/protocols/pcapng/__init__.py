"""pcapng: its blocks, and the events of a gateway in them."""
