"""Where the metrics may be read: by the rules of every listener."""

import pytest

from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors

TOKENS = "tokens: {grafana: {role: monitor, file: ./t}}"


@pytest.mark.parametrize(
    ("listen", "access", "wrong"),
    [
        ("127.0.0.1:9464", "{}", ""),
        ("'[::1]:9464'", "{}", ""),
        ("0.0.0.0:9464", "{}", "other hosts reach this address"),
        ("0.0.0.0:9464", f"{{{TOKENS}}}", "other hosts reach this address without TLS"),
        ("0.0.0.0:9464", f"{{{TOKENS}, plaintext: true}}", ""),
        ("127.0.0.1:99464", "{}", "is not HOST:PORT"),
        ("127.0.0.1", "{}", "metrics.listen"),
    ],
)
def test_another_host_needs_a_token_to_read(listen: str, access: str, wrong: str) -> None:
    text = f"version: 1\nmetrics: {{listen: {listen}}}\naccess: {access}\nrobots: {{a: {{}}}}\n"
    if not wrong:
        metrics = load_text(text, "f").config.metrics
        assert metrics is not None
        assert metrics.listen == listen.strip("'")
        return
    with pytest.raises(ConfigErrors, match=wrong):
        load_text(text, "f")
