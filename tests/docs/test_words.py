"""Pages, configurations and code use the words of the field, one word for one thing."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from symtable import SymbolTable, symtable

from tests.sources import files, nodes, statements

ROOT = Path(__file__).parents[2]
BESIDE = ("README", "CONTRIBUTING", "SAFETY", "SECURITY")
PAGES = [*(ROOT / f"{name}.md" for name in BESIDE), *sorted((ROOT / "docs").rglob("*.md"))]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
PRIVATE = re.compile(
    r"\b(nobody|whoever|told|said|says|hears?|heard|cures?|mends?|mended|stand-ins?|tally|outbox"
    r"|failsafe|is no (?:valid|HC-12|XBee))\b"
)


def prose(page: Path) -> str:
    """Without blocks of code, code, and addresses; of a configuration the comments."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".yaml":
        return "\n".join(re.findall(r"#.*", text))
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def test_no_private_words() -> None:
    assert PAGES and CONFIGS
    assert [
        f"{page.name}: {line}"
        for page in (*PAGES, *CONFIGS)
        for line in prose(page).splitlines()
        if PRIVATE.search(line)
    ] == []


# --- the code ------------------------------------------------------------------------------

PYTHON = [file for room in ("hilgw", "firmware_mocks", "tests") for file in files(room)]
# What to write instead of a word that only people, and not machines, would use of themselves.
INSTEAD = {
    "heard|hears?|hearing|overhears?|overheard": "received, receives",
    "unheard": "not received",
    "told|tells?|telling": "requested, reports, passes, distinguishes",
    "said|says?|saying": "reported, reports, sent, contains",
    "knows": "has, stores, supports",
    "nobody|whoever": "no client, no robot, no listener; each client that",
    "talks?|talking|talked": "sends, exchanges, dialogue",
    "tally|tallies": "statistics, counts",
    "outbox": "transmit queue",
    "ears?": "receiver",
    "standins?": "mock",
    "cures?|cured|mends?|mended": "fix, recovery",
    "doors?": "peer link, tcp server",
    "failsafe": "safety",
    "farewell": "the last bytes, time to close",
    "lamps?": "LED",
    "(?<!there )is no(?! (?:longer|more|such)\\b)": "is not a, is not valid",
}
# Places where such a word is a term of the field, or hilgw did not choose it.
TERMS = {
    ("say", "hilgw/cli"): "the command `hilgw say`",
    ("say", "hilgw/client"): "the command `hilgw say`",
    ("say", "tests/cli"): "the command `hilgw say`",
    ("say", "hilgw/controllers"): "the command `hilgw say`",
    ("say", "hilgw/protocols/gateway"): "the command `hilgw say`",
    ("say", "tests/controllers/webots/test_robot.py"): "the command `hilgw say`",
    ("say", "hilgw/engine/control_socket/control_server.py"): "the command `hilgw say`",
    ("say", "hilgw/web/pages/robot.py"): "the command `hilgw say`",
    ("say", "hilgw/engine/control_loop/controller_steps.py"): "the command `hilgw say`",
    ("failsafe", "hilgw/config/diagnose.py"): "a key of earlier versions, suggested as safety",
    ("says", "hilgw/transports/tcp/opening.py"): "a sentence that a server sent, quoted",
    ("lamp", "firmware_mocks"): "a lamp in a room, not the LED of a robot",
    ("lamp", "tests/firmware_mocks"): "a lamp in a room, not the LED of a robot",
}


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")


CHECKS = {_pattern(words): instead for words, instead in INSTEAD.items()}
ANY = _pattern("|".join(INSTEAD))
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def names_and_texts(file: Path, *, messages: bool) -> Iterator[tuple[int, str]]:
    """Line and text of each identifier, docstring and comment, and of each other string.

    messages: false leaves these out; strings of tests are what robots send, or what users write.
    """
    source = file.read_text(encoding="utf-8")
    docstrings = set()
    for node in nodes(file):
        if isinstance(node, (*DEFINITIONS, ast.Module)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(first.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if messages or node in docstrings:
                yield node.lineno, node.value
        elif isinstance(node, DEFINITIONS):
            yield node.lineno, node.name
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.lineno, node.arg
    for number, line in enumerate(source.splitlines(), 1):
        if comment := re.search(r"(?:^|\s)# (.*)", line):
            yield number, comment[1]


def spelled(text: str) -> str:
    """Words in small letters, apart: `heardBy` and `heard_by` have the word heard."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return " ".join(apart.replace("stand-in", "standin").replace("_", " ").lower().split())


@cache
def has_private_words(text: str) -> bool:
    """Names repeat: each is looked at once."""
    return ANY.search(spelled(text)) is not None


def private_words(file: Path) -> Iterator[str]:
    path = file.relative_to(ROOT).as_posix()
    source = re.sub(r"\\.", " ", file.read_text(encoding="utf-8"))
    if not ANY.search(spelled(f"{source} {file.stem}")):
        return  # quick: most files have none of them anywhere
    texts = [(1, file.stem), *names_and_texts(file, messages=not path.startswith("tests/"))]
    for line, text in texts:
        if len(text) > 2 and has_private_words(text):
            words = spelled(text)
            for pattern, instead in CHECKS.items():
                for match in pattern.finditer(words):
                    if not _is_term(match[0], path):
                        yield f"{path}:{line}: {match[0]!r}; write {instead}: {words[:90]}"


def _is_term(word: str, path: str) -> bool:
    return any(word == term and path.startswith(place) for term, place in TERMS)


def test_no_private_words_in_python() -> None:
    """In names, docstrings, comments and messages of all rooms."""
    lines = {line for file in PYTHON if file != Path(__file__) for line in private_words(file)}
    assert sorted(lines) == []


def test_private_words_are_found_in_all_kinds_of_names_and_texts(tmp_path: Path) -> None:
    for text in ("heard_by", "HeardBy", "A mock says so.", "its stand-in", "it is no XBee"):
        assert ANY.search(spelled(text)), text
    for text in ("rehearse", "it is no longer one", "there is no XBee", "bear", "essays"):
        assert not ANY.search(spelled(text)), text
    file = tmp_path / "part.py"
    file.write_text("class HeardBy:\n    'Told.'\n    nobody = 'tally'  # mends\n")
    texts = [text for _, text in names_and_texts(file, messages=True)]
    assert sorted(texts) == ["HeardBy", "Told.", "mends", "nobody", "tally"]
    texts = [text for _, text in names_and_texts(file, messages=False)]
    assert sorted(texts) == ["HeardBy", "Told.", "mends", "nobody"]


# --- docstrings and names ------------------------------------------------------------------

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A first word that begins no imperative: one of these, or a verb in the third person.
NOT_IMPERATIVE = re.compile(
    r"(?:Whether|What|One|Of|Those|As|It|Its|That|The|A|An|Is|All|How|Where|When|Which|Who|No"
    r"|Each|Every|[A-Za-z]+(?<!s)s)\b"
)
FRAGMENT = re.compile(
    r"(?:Whether|What|One|Of|Those|As|It|Its|That|How|Where|When|Which|Who|Why|For|In|With|None)\b"
)
VAGUE = {"each", "what", "found", "at"}
MOST_VAGUE = 30


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    return any(re.search(r"\bproperty$|cached_property$|\.setter$", name) for name in decorators)


def not_imperative(file: Path) -> Iterator[str]:
    """Yield name and first line of each docstring of a function that is not in the imperative.

    Those of properties, classes and modules may be noun phrases, but no fragments.
    """
    for node in statements(file):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            is_function = isinstance(node, FUNCTIONS) and not _is_property(node)
            first, *_ = (ast.get_docstring(node) or "").splitlines() or [""]
            if (NOT_IMPERATIVE if is_function else FRAGMENT).match(first):
                yield f"{getattr(node, 'name', 'module')}: {first}"


NO_FUNCTIONS = {"lambda", "genexpr", "listcomp", "setcomp", "dictcomp"}


def functions(scope: SymbolTable) -> Iterator[SymbolTable]:
    for inner in scope.get_children():
        if inner.get_type() == "function" and inner.get_name() not in NO_FUNCTIONS:
            yield inner
        yield from functions(inner)


def vague_names(file: Path) -> Iterator[str]:
    """Yield function and name of each variable whose name does not say what it holds."""
    for function in functions(symtable(file.read_text(encoding="utf-8"), file.name, "exec")):
        for name in sorted(VAGUE & {*function.get_identifiers()}):
            if function.lookup(name).is_local():
                yield f"{function.get_name()}: {name}"


def test_docstrings_of_functions_are_in_the_imperative() -> None:
    rooms = ("hilgw", "firmware_mocks", "tools")
    assert [
        f"{file.relative_to(ROOT)}: {line}"
        for room in rooms
        for file in files(room)
        for line in not_imperative(file)
    ] == []


def test_variables_are_named_after_what_they_hold() -> None:
    names = [
        f"{file.relative_to(ROOT)}: {name}"
        for room in ("hilgw", "firmware_mocks", "tools", "tests")
        for file in files(room)
        for name in vague_names(file)
    ]
    assert len(names) < MOST_VAGUE, "\n".join(names)


def test_fragments_and_vague_names_are_found(tmp_path: Path) -> None:
    file = tmp_path / "part.py"
    file.write_text(
        "'What leaves.'\n"
        "class Port:\n"
        "    'One port.'\n"
        "    @property\n"
        "    def name(self): 'The name.'\n"
        "    def open(self): 'Opens the port.'\n"
        "    async def read(self): 'What arrives.'\n"
        "    def pass_on(self): 'Pass the bytes to the port.'\n"
        "    def close(self):\n"
        "        def inner(): 'Its end.'\n"
    )
    assert sorted(not_imperative(file)) == [
        "Port: One port.",
        "inner: Its end.",
        "module: What leaves.",
        "open: Opens the port.",
        "read: What arrives.",
    ]
    file.write_text(
        "def read(at, *, port):\n"
        "    what: int\n"
        "    for each, _ in port:\n"
        "        each = [found for found in each if (what := found)]\n"
        "    return lambda at: {at: each for each in port}\n"
        "def write(port):\n"
        "    with port as found:\n"
        "        found = [at.what for at in found]\n"
    )
    assert sorted(vague_names(file)) == ["read: at", "read: each", "read: what", "write: found"]
