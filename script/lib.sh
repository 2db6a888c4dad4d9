# Shared by the commands beside it (sourced, POSIX sh): enters the checkout and finds a Python that is new enough.
# Everything else is Python, in script/support/, so that children are watched and stopped by one piece of code.

cd "$(dirname "$0")/.." || exit 2

find_python() {
    for candidate in python3.11 python3.12 python3.13 python3 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    echo "Failover Lab needs Python 3.11 or newer on the PATH; on Debian: apt-get install python3 python3-venv" >&2
    return 1
}

PYTHON="$(find_python)" || exit 2
