"""Ends a command: its exit code, and what is printed on an error.

It exits quietly when the reader of its output has exited, prints a message when the output cannot be written,
and adds a traceback on an internal error.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from simulator import ScenarioError
from simulator.headless import EXIT_BAD_INPUT, EXIT_BUG

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing to a file that is standard output.

Other files are checked where they are written.
"""


def leave_with(work: Callable[[], int]) -> NoReturn:
    """Run a command's `work`, which returns an exit code, and exit the process with it."""
    try:
        code = work()
        sys.stdout.flush()
    except ScenarioError as error:  # of a rule's author, raised while it runs
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_BAD_INPUT)
    except BrokenPipeError:
        # The reader of the output has exited (`| head`): nothing reads a message.
        sys.stdout = None  # the interpreter must not flush it at exit
        sys.exit(EXIT_BAD_INPUT)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _own_bug()
        sys.stderr.write(
            f"standard output cannot be written: {error.strerror}; make room, or send it elsewhere\n"
        )
        sys.stdout = None
        sys.exit(EXIT_BAD_INPUT)
    except Exception:
        _own_bug()
    sys.exit(code)


def _own_bug() -> NoReturn:
    sys.stderr.write(
        f"A bug in Failover Lab, please report it with the scenario and this:\n{traceback.format_exc()}"
    )
    sys.exit(EXIT_BUG)
