# Sourced by tools/run and tools/test: makes .venv with what $1 ("" or "[test]") needs, once.
# PYTHON=python3.13 selects another Python, which gets a .venv-3.13 of its own.
# Callers are in the checkout: $here. $started is the folder of the user, where it is known.
# As root it installs missing programs with apt; otherwise it prints the command that installs them.

say() { printf '%s\n' "$*" >&2; }

install_debian() { # packages...; false without root or apt-get
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
    say "installing with apt: $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >/dev/null 2>&1 && return 0
    apt-get update -q >/dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >/dev/null
}

here=$PWD
python=${PYTHON:-python3}
venv=.venv
if [ -n "${PYTHON:-}" ]; then
    venv=.venv-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || {
        say "PYTHON=$PYTHON does not run"
        exit 1
    }
fi

need_python() {
    if ! command -v "$python" >/dev/null 2>&1; then
        install_debian python3 python3-venv || {
            say "hilgw needs Python 3.11 or newer: sudo apt-get install python3 python3-venv"
            exit 1
        }
    fi
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        say "hilgw needs Python 3.11 or newer; this is $("$python" --version 2>&1)"
        exit 1
    }
    # Debian's python3 has the module venv, but not the pip that venv installs.
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 || install_debian python3-venv || {
        say "hilgw needs Python's venv: sudo apt-get install python3-venv"
        exit 1
    }
}

want_compiler() {
    # crcmod (and cobs on some Pythons) has no wheel: without a compiler it works, but slowly.
    header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    if command -v cc >/dev/null 2>&1 && [ -e "$header" ]; then return; fi
    install_debian gcc libc6-dev python3-dev ||
        say "without a C compiler CRCs are slower: sudo apt-get install gcc libc6-dev python3-dev"
}

setup() { # extras
    wanted=$(cksum <pyproject.toml)
    stamp=$venv/set-up$1
    if [ -x "$venv/bin/hilgw" ] && [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then return; fi
    need_python
    want_compiler
    say "setting up $venv (once; takes about a minute)"
    [ -x "$venv/bin/python" ] && "$venv/bin/python" -c pass 2>/dev/null || "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check -e ".$1" || {
        say "the set-up failed; see above, and check that the package index is reachable"
        exit 1
    }
    printf '%s\n' "$wanted" | tee "$venv/set-up" >"$stamp"
    say "$(hint)"
}

hint() { # how to use hilgw without tools/run; nothing where it is on the path
    [ "$(command -v hilgw || :)" != "$here/$venv/bin/hilgw" ] || return 0
    if [ "${started-}" = "$here" ]; then folder=; else folder=$here/; fi
    case $folder in *[!A-Za-z0-9/._-]*) folder="'$folder'" ;; esac
    printf 'source %s%s/bin/activate   (from now on: hilgw)\n' "$folder" "$venv"
}

only_options() { # arguments...; whether they name neither a command nor a configuration
    "$here/$venv/bin/python" -c '
import sys
from hilgw.cli.help import WITH_VALUE

words = iter(sys.argv[1:])
for word in words:
    named = ("-c", "--config", "-h", "--help", "--version")
    if word in named or word.startswith("--config=") or not word.startswith("-"):
        sys.exit(1)
    if word in WITH_VALUE:
        next(words, None)
' "$@"
}

run_module() { # module, arguments...: in this process, which gets the signals; ends with the hint
    exec "$here/$venv/bin/python" -c '
import contextlib, runpy, sys

hint, sys.argv = sys.argv[1], sys.argv[2:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
finally:
    with contextlib.suppress(OSError):
        if hint:
            print(hint, file=sys.stderr, flush=True)
' "$(hint)" "$@"
}
