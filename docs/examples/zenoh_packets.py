"""Listens to the packets of a network of gateways, and sends one: with zenoh-python, without hilgw.

pip install eclipse-zenoh
python zenoh_packets.py tcp/127.0.0.1:7447 lab radio 12 "ping"
"""

from __future__ import annotations

import json
import sys
import time

import zenoh

endpoint, network, kind, channel, text = sys.argv[1:]

config = zenoh.Config()
config.insert_json5("mode", '"client"')
config.insert_json5("connect/endpoints", json.dumps([endpoint]))

with zenoh.open(config) as session:

    def show(sample: zenoh.Sample) -> None:
        sender = str(sample.key_expr).split("/")[3]
        attachment = sample.attachment.to_bytes() if sample.attachment is not None else b""
        head = json.loads(attachment.partition(b"\0")[0] or b"{}")
        print(head.get("source", "?"), "of", sender, sample.payload.to_bytes(), flush=True)

    session.declare_subscriber(f"hilgw/{network}/packet/*/{kind}/{channel}", show)
    key = f"hilgw/{network}/packet/script/{kind}/{channel}"
    head = json.dumps({"source": "hand", "position": [0, 0, 0], "range": 5})
    while True:
        session.put(key, text.encode(), attachment=head)
        time.sleep(1)
