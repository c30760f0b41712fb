"""The module in the air: addresses, packets, discovery, Zigbee."""
