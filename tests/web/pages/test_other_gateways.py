"""Another gateway of a federation on the overview, in a real browser; what it has is hostile."""

from pathlib import Path
from typing import Any

from hilgw.federation import wire
from tests.e2e.running import Gateway
from tests.federation.test_survey import ID, Network
from tests.web.pages.browser import Web, opened, wait_for

EVIL = "<img src=x onerror=\"document.title='run'\">"


def test_the_overview_has_the_other_gateway_and_its_texts_are_text(
    folder: Path, web: Web, chromium: Any
) -> None:
    network = Network()
    listeners = {EVIL: wire.ListenerState("radio", [5])}
    state = wire.State(wire.id_text(ID), "1", revision=1, listeners=listeners, robots={EVIL: []})
    network.answer("state", "bench", wire.encode_json(state))
    network.member("bench")
    text = f'version: 1\nfederation: {{name: simulator, connect: ["{network.endpoint}"]}}\n'
    (folder / "federated.yaml").write_text(text)
    with Gateway(folder, ["federated.yaml"]), opened(chromium, web.url) as page:
        others = page.get_by_role("region", name="Other gateways").filter(has_text="gateway@bench")
        wait_for(others.locator(".state.good", has_text="up"))
        row = others.locator("tr", has_text="gateway@bench")
        assert row.get_by_text("onerror").count() == 2  # robot and listener
        assert others.locator("img").count() == 0
        assert page.title() == "Overview - hilgw"
    network.session.close()  # type: ignore[no-untyped-call]
