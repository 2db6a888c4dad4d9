"""A rule of a protocol in a Python file of one's own, which the argument `--rules` names.

Rules: the file is Python code that runs with this process's rights. So it is named on a command line and
never uploaded, and a shared site refuses it (`labsite.settings`). A process has at most one such rule. Child
processes load it from the same path, which they inherit in `VARIABLE`. A run's scenario names it with the
digest of its text, so that no other text is taken for it. What the author did wrong is a RuleError with file
and line, and no internal error.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from simulator.scenarios.tree import Problem, ScenarioError, suggestion

VARIABLE = "FAILOVER_LAB_RULES"
"""The environment variable with the path of the file, set by `load_rules` for child processes."""

BUILT_IN = "built-in"
"""The value of a rule's option for the built-in rule."""

NAME = re.compile("[a-z][a-z0-9_]{0,39}")
DIGEST_DIGITS = 16
"""Hexadecimal digits of a digest, 64 bits: no two files have the same one by chance."""
LARGEST_BYTES = 65_536
"""The largest file: the built-in rule has 6,000 bytes with its texts."""

MODULES = (
    *("__future__", "bisect", "collections", "dataclasses", "functools", "heapq", "itertools", "math"),
    *("numpy", "operator", "pyroaring", "simulator", "typing"),
)
"""What a file may import: nothing with a clock, chance, files or a network."""
WITHOUT = ("set", "frozenset", "open", "exec", "eval", "id", "hash", "input", "globals", "vars", "__import__")
"""Names that a file must not use: the first two have no fixed order, the others leave the run."""
PLAIN = (bool, int, str, bytes, type(None))
"""Types of the state that a rule may keep, in lists, tuples and dicts."""


class RuleError(ScenarioError):
    """The author's rule cannot be used, or its run cannot continue; the text names file and line."""

    def __init__(self, path: str, line: int | None, what: str, right: str) -> None:
        place = path if line is None else f"{path}, line {line}"
        super().__init__([Problem(place, None, None, "", what, right, "bad-rule")])
        self.given = (path, line, what, right)

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleError, self.given


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A loaded file; `value` names it in a scenario."""

    path: str
    name: str
    digest: str
    made_by: type

    @property
    def value(self) -> str:
        """The value of the rule's option: name and digest."""
        return f"{self.name}@{self.digest}"

    def make(self) -> Any:
        """A rule for one run."""
        try:
            made = self.made_by()
        except Exception as error:
            raise failed(self.path, error, "cannot be made") from error
        check_state(made)
        return made


_loaded: dict[str, RuleFile] = {}


def load_rules(path: str | Path) -> RuleFile:
    """Load a file as this process's rule, and that of the processes that it starts. Raises RuleError."""
    found = _read(Path(path).absolute())
    _loaded.clear()
    _loaded[found.path] = found
    os.environ[VARIABLE] = found.path
    return found


def forget_rules() -> None:
    """Have no rule of a file any more."""
    _loaded.clear()
    os.environ.pop(VARIABLE, None)


def loaded_rules() -> RuleFile | None:
    """The rule that this process was started with, None if there is none. Raises RuleError."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    return _loaded.get(path) or load_rules(path)


def how_to_load(value: str) -> tuple[str, str]:
    """What is wrong with a rule that is not loaded here, and what would be right."""
    name, _, digest = value.partition("@")
    found = loaded_rules()
    if found is not None and found.name == name:
        right = f"the file now has digest {found.digest}: give the text that the run was made with"
        return f"{name} with digest {digest} is not loaded", right
    right = f"start with --rules {name}.py on a machine of your own" + (
        f" (digest {digest})" if digest else ""
    )
    return f'the rule "{value[:80]}" is not loaded', f"{right}, or write {BUILT_IN}"


def failed(path: str, error: BaseException, doing: str) -> RuleError:
    """The error of a rule that raised one: the deepest line of its file."""
    if isinstance(error, RuleError):
        return error
    line = _line_in(path, error.__traceback__)
    words = f"{doing}: {type(error).__name__}: {error}"[:280]
    return RuleError(path, line, words, "correct the rule and start again; nothing else has stopped")


def _line_in(path: str, trace: TracebackType | None) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def ask(rule: Any, hook: str, *given: Any) -> Any:
    """The answer of a rule's hook. Raises RuleError for what the author did wrong."""
    try:
        answer = getattr(rule, hook)(*given)
    except Exception as error:
        raise failed(path_of(rule), error, f"{hook} failed") from error
    if vars(rule):
        check_state(rule)
    return answer


def ask_copy(rule: Any, hook: str, *given: Any) -> Any:
    """The answer that a hook would give, without an effect on the rule: for those who observe a run."""
    return ask(deepcopy(rule) if vars(rule) else rule, hook, *given)


def wrong_answer(rule: Any, hook: str, what: str, right: str) -> RuleError:
    """The error of an answer that cannot be used; the line is that of the hook."""
    return RuleError(
        path_of(rule), getattr(type(rule), hook).__code__.co_firstlineno, f"{hook} {what}", right
    )


def not_repeated(what: str) -> RuleError:
    """The error of a rule whose answers differ when a part of the run is repeated, as a seek does."""
    found = loaded_rules()
    right = "decide only from what a hook is given and from self, and keep in self what decides later"
    return RuleError("" if found is None else found.path, None, f"does not repeat its run: {what}", right)


def path_of(rule: Any) -> str:
    """The file of a rule's class."""
    return getattr(sys.modules[type(rule).__module__], "__file__", None) or type(rule).__module__


def check_state(rule: Any) -> None:
    """Raise RuleError unless what a rule keeps is copied exactly, so that a seek goes back to it."""
    for name, value in vars(rule).items():
        if (bad := _not_plain(value)) is not None:
            right = (
                "keep whole numbers, texts, lists, tuples and dicts of them: a seek restores these exactly"
            )
            raise RuleError(path_of(rule), None, f"self.{name} holds a {bad}", right)


def _not_plain(value: Any) -> str | None:
    """The name of the first type in a value that a rule must not keep."""
    if isinstance(value, PLAIN):
        return None
    if isinstance(value, (list, tuple)):
        return next((bad for one in value if (bad := _not_plain(one)) is not None), None)
    if type(value) is dict:
        return _not_plain([*value, *value.values()])
    return type(value).__name__


# --- reading


def _read(path: Path) -> RuleFile:
    where = str(path)
    if path.suffix != ".py" or not NAME.fullmatch(path.stem):
        right = "name it with small letters, digits and _, such as my_rule.py"
        raise RuleError(where, None, "is no name of a rule's file", right)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RuleError(where, None, f"cannot be read: {why}", "name a readable Python file") from None
    if len(data) > LARGEST_BYTES:
        raise RuleError(where, None, f"has {len(data):,} bytes", f"at most {LARGEST_BYTES:,}")
    try:
        tree = ast.parse(text, where)
    except SyntaxError as error:
        raise RuleError(where, error.lineno, f"{error.msg}", "correct the Python text") from None
    for line, what, right in _unfit(tree):
        raise RuleError(where, line, what, right)
    digest = hashlib.sha256(data).hexdigest()[:DIGEST_DIGITS]
    module = ModuleType(f"rule_{path.stem}_{digest}")
    module.__file__ = where
    sys.modules[module.__name__] = module  # checkpoints name the class by its module
    try:
        exec(compile(tree, where, "exec"), module.__dict__)
    except Exception as error:
        raise failed(where, error, "cannot be loaded") from error
    return RuleFile(where, path.stem, digest, _rule_class(where, module))


def _unfit(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """What makes a run differ from its repetition, by line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            )
            for name in names:
                if name.split(".")[0] not in MODULES:
                    yield node.lineno, f"imports {name or 'a neighbour'}", f"only {', '.join(MODULES)} may be"
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield (
                node.lineno,
                f"changes {', '.join(node.names)} outside self",
                "keep it in self, which a seek restores",
            )
        elif isinstance(node, ast.Set | ast.SetComp):
            yield node.lineno, "makes a set, which has no fixed order", "use a dict or a sorted list"
        elif isinstance(node, ast.Name) and node.id in WITHOUT:
            right = (
                "use a dict or a sorted list" if "set" in node.id else "decide from what the hook is given"
            )
            yield node.lineno, f"uses {node.id}", right
        elif isinstance(node, ast.Attribute) and node.attr == "random":
            yield node.lineno, "draws at random", "decide from what the hook is given: a run is repeatable"
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield (
                node.lineno,
                f"decides with the decimal {node.value}",
                "use whole numbers, such as 3 * n // 2",
            )
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            yield node.lineno, "divides with /", "write //, whose result is a whole number"
    for statement in tree.body:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(
            value, ast.List | ast.Dict | ast.Call
        ):
            right = "keep it in self, which a seek restores; a constant may be a tuple"
            yield statement.lineno, "a variable of the file can change", right


def _rule_class(path: str, module: ModuleType) -> type:
    """The one class of the file that is a rule, with hooks that exist and take what they are given."""
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__ and hasattr(one, "hooks")
    ]
    if len(found) != 1:
        what = f"defines {len(found)} rules" if found else "defines no rule"
        right = "write one class that extends Rule (docs/rules.md)"
        raise RuleError(path, None, what, right)
    made_by = found[0]
    for name, hook in vars(made_by).items():
        if name.startswith("_") or not callable(hook):
            continue
        line = hook.__code__.co_firstlineno if inspect.isfunction(hook) else None
        if name not in made_by.hooks:
            right = f"{suggestion(name, made_by.hooks)}; the name of a helper begins with _"
            raise RuleError(path, line, f"there is no hook {name}", right)
        wanted = list(inspect.signature(getattr(made_by.__mro__[-2], name)).parameters)
        if list(inspect.signature(hook).parameters) != wanted:
            raise RuleError(
                path, line, f"{name} takes other arguments", f"write def {name}({', '.join(wanted)})"
            )
    return made_by
