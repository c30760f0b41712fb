"""Hook of the build: links of the README as an index needs them, and the project's addresses.

An index shows the README without the files next to it. HILGW_URL names the public repository, and
HILGW_REF a tag of it (default: v and the version): then each relative link is an address of that
tag. Without HILGW_URL a relative link becomes its text, so no link is broken.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or an image of Markdown: [text](target). Fences and code spans stay as they are.
LINK = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`)|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)


class ProjectMetadata(MetadataHookInterface):
    """Adds `readme`, and `urls` if they are known."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Update the metadata; raise ValueError when HILGW_URL is not an address."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = repository_of(os.environ)
        ref = os.environ.get("HILGW_REF") or f"v{metadata['version']}"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": for_index(readme, repository, ref),
        }
        metadata["urls"] = urls(repository, ref) if repository else {}


def repository_of(environment: Mapping[str, str]) -> str:
    """HILGW_URL without its last slash; empty when it is not set. Raises ValueError."""
    given = environment.get("HILGW_URL", "").rstrip("/")
    parts = urlsplit(given)
    if given and not (parts.scheme in ("http", "https") and parts.netloc):
        raise ValueError(f"HILGW_URL: {given!r} is not the address of a repository")
    return given


def urls(repository: str, ref: str) -> dict[str, str]:
    """Return the project's addresses, by their names on an index."""
    files = f"{repository}/blob/{ref}"
    return {
        "Homepage": repository,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Source": repository,
        "Issues": f"{repository}/issues",
    }


def for_index(readme: str, repository: str, ref: str) -> str:
    """Return the README with the address of each file it links to; no repository: without links."""

    def changed(match: re.Match[str]) -> str:
        target, text, image = match["target"], match["text"], match["image"]
        if match["code"] or target.startswith("#") or urlsplit(target).scheme:
            return match[0]
        if not repository:
            return text
        return f"{image}[{text}]({repository}/{'raw' if image else 'blob'}/{ref}/{target})"

    return LINK.sub(changed, readme)
