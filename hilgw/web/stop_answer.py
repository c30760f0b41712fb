"""Answers of STOP ALL, at its own port and below /stop/ at that of the page.

A POST disarms all robots of all gateways of this user, as `hilgw disarm --all` does. Its answer
names each gateway that did not confirm. A GET of `alive` names this run of `hilgw web`; any other
shows the button, and does nothing.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from hilgw.client.arming import NOT_CONFIRMED, Disarmed, disarm_each
from hilgw.errors import HilgwError
from hilgw.web.access import Visitors
from hilgw.web.markup import Markup, element, joined, plain_page

REFUSED = "NOT stopped: this request did not come from the page of hilgw web."
_BUTTON = "form{display:grid;gap:.5rem}button{font:800 14vw/1.1 system-ui,sans-serif;color:#fff;\
background:#c81e1e;border:3px solid;border-radius:1.5rem;padding:2rem 0;cursor:pointer}"
BEFORE = Markup(  # the button fills the screen, and nothing looks like a stop that was done
    f"<style>{_BUTTON}body{{margin:0}}form{{grid-template-rows:1fr auto;box-sizing:border-box;"
    "height:100vh;height:100dvh;padding:1rem}p{margin:0;text-align:center}</style>"
)
AFTER = Markup(
    f"<style>{_BUTTON}body{{margin:0;padding:1rem;color:#fff;background:#14532d}}"
    "body:has(.bad){background:#991b1b}p{margin:0 0 .5rem;overflow-wrap:anywhere}</style>"
)
_POLICY = (  # no page may have the button in a frame
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
)


def stop_all() -> Disarmed:
    """Ask all gateways to disarm all robots.

    An error of another kind is one more error.
    """
    try:
        return disarm_each((), None, None)
    except HilgwError as error:
        return Disarmed(errors=[error])
    except OSError as error:
        return Disarmed(errors=[HilgwError(f"{NOT_CONFIRMED}: {error}")])


def answer(
    visitors: Visitors,
    run_id: str,
    method: str,
    target: str,
    headers: Mapping[str, str],
    form: bytes = b"",
    stop: Callable[[], Disarmed] = stop_all,
) -> tuple[HTTPStatus, str, dict[str, str]]:
    """Return status, text and headers, after the stop where one is asked for.

    `run_id` is of this run of `hilgw web`, by which a page recognizes its own. `form` has the
    token.
    """
    path, _, query = target.partition("?")
    token = dict(parse_qsl(f"{query}&{form.decode('latin-1')}")).get("token", "")
    may_stop = visitors.may_stop(headers, token)
    origin, status = headers.get("origin", ""), HTTPStatus.OK
    more = {"content-type": "text/html", "cache-control": "no-store"}
    more["content-security-policy"] = _POLICY
    is_known = may_stop and visitors.is_known_host(origin.partition("//")[2])
    if is_known or visitors.is_own_origin(origin, headers.get("host")):
        # A page at another port reads the answer.
        more["access-control-allow-origin"] = origin
    if method == "POST":
        if not may_stop:
            status, text = HTTPStatus.FORBIDDEN, element("p", REFUSED, class_="bad")
        else:
            stopped = stop()
            lines = [element("p", error, class_="bad") for error in stopped.errors]
            for name, gateway in stopped.robots:
                lines.append(element("p", f"{name} is disarmed{gateway.suffix()}"))
            text = joined(lines)
            status = HTTPStatus.BAD_GATEWAY if stopped.errors else status
        return status, plain_page(joined([AFTER, text, _form(token)])), more
    if path.endswith("/alive"):
        return status, run_id, more | {"content-type": "text/plain"}
    return status, plain_page(joined([BEFORE, _form(token)])), more


def _form(token: str) -> Markup:
    hidden = element("input", type="hidden", name="token", value=token) if token else ""
    button = element("button", "STOP ALL", aria_describedby="hint")
    hint = element("p", "Disarms all robots of all gateways", id="hint")
    return element("form", hidden, button, hint, method="post")
