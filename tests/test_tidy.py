"""The house rules, checked.

Permitted imports, what the simulator must never use, lengths, paths, page code.

Rules of this file: it reads sources as text or syntax trees and runs nothing; each check returns every
offence at once, with file and line, so that one run shows everything that is to be fixed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("simulator", "visualizer", "spark_reports", "labsite", "script", "tests")
GENERATED = re.compile(r"_pb2\.py$|/migrations/\d|/node_modules/")
"""Written by a generator, or installed by npm; its form is not under our control."""

WORKER_ONLY = (
    "labsite/attempts.py",
    "labsite/engine_worker.py",
    "labsite/spark_worker.py",
)
"""What only the report worker imports; that the web process does not is tested below."""

FUNCTION_LINES_LIMIT = 60
TEST_FUNCTION_LINES_LIMIT = 110
"""Tests contain scenarios, rows and tables of cases, one value to a line."""

FIRST_SENTENCE = re.compile(r"(?=.*[A-Za-z]).{1,99}[.:?!]")
"""The first line of a docstring: at most 100 characters, and more than a number."""

STILL_LONGER = frozenset(
    {
        "script/benchmarks/groups.py measure",
        "script/benchmarks/live.py measure",
    }
)
"""Functions beyond the limit, to be divided.

An entry that is no longer needed fails here too.
"""

STANDARD = frozenset(sys.stdlib_module_names)

SIMULATOR_PACKAGES = frozenset({"numpy", "pyroaring", "google", "ruamel", "avro", "simulator"})
"""What `simulator` may import beside the standard library."""

SIMULATOR_NEVER = frozenset(
    {
        "asyncio",
        "threading",
        "multiprocessing",
        "concurrent",
        "socket",
        "subprocess",
        "time",
        "datetime",
        "random",
        "secrets",
        "uuid",
        "queue",
        "sched",
        "signal",
    }
)
"""Standard modules that would introduce the wall clock, randomness or other processes."""

FILE_MODULES = frozenset({"os", "shutil", "tempfile", "glob", "importlib"})
FILE_CALLS = frozenset(
    {"open", "read_text", "write_text", "read_bytes", "write_bytes", "iterdir", "glob", "mkdir", "unlink"}
)
FILES_ALLOWED = (
    "simulator/scenarios/",
    "simulator/trace/files.py",
    "simulator/trace/json_lines.py",
    "simulator/trace/recorded_files.py",
)

IDENTITY_ALLOWED = ("simulator/system/checkpoint.py",)
"""Numbers shared objects by order of meeting.

The addresses are only keys of a look-up and reach no row.
"""


def sources(room: str, suffix: str = ".py") -> list[Path]:
    return [
        path for path in sorted((ROOT / room).rglob(f"*{suffix}")) if not GENERATED.search(path.as_posix())
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """(line, full module name) of every import at run time, not of those for types only.

    `from a import b` gives `a.b` too when b may be a module.
    """
    for node in run_time_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            yield node.lineno, base
            if (ROOT / base.replace(".", "/")).is_dir():
                for alias in node.names:
                    if _is_module(f"{base}.{alias.name}"):
                        yield node.lineno, f"{base}.{alias.name}"


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node except what stands under `if TYPE_CHECKING:`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for otherwise in child.orelse:
                yield from run_time_nodes(otherwise)
        else:
            yield from run_time_nodes(child)


def _is_module(name: str) -> bool:
    place = ROOT / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return imports(parsed(path), package)


def no_offences(offences: list[str]) -> None:
    assert not offences, "\n" + "\n".join(offences)


# --- permitted imports


def test_simulator_imports_only_its_few_packages():
    offences = []
    for path in sources("simulator"):
        allowed = SIMULATOR_PACKAGES | ({"pyarrow"} if name_of(path) == "simulator/trace/files.py" else set())
        for line, module in imports_of(path):
            top = module.split(".")[0]
            if top in SIMULATOR_NEVER or not (top in STANDARD or top in allowed):
                offences.append(f"{name_of(path)}:{line} imports {module}")
    no_offences(offences)


def test_simulator_touches_files_only_in_scenarios_and_trace_files():
    offences = []
    for path in sources("simulator"):
        if name_of(path).startswith(FILES_ALLOWED):
            continue
        offences += [
            f"{name_of(path)}:{line} imports {module}"
            for line, module in imports_of(path)
            if module.split(".")[0] in FILE_MODULES
        ]
        for node in ast.walk(parsed(path)):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", getattr(node.func, "id", "")) in FILE_CALLS
            ):
                offences.append(f"{name_of(path)}:{node.lineno} touches files: {ast.unparse(node.func)}()")
    no_offences(offences)


def test_import_cycles_stay_within_a_folder_and_five_files():
    """Imports inside functions count."""
    offences = []
    for cycle in import_cycles():
        folders = {module.rpartition(".")[0] for module in cycle}
        if len(cycle) > 5 or len(folders) > 1:
            offences.append(f"{len(cycle)} files in {len(folders)} folders: {', '.join(sorted(cycle))}")
    no_offences(offences)


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def import_cycles() -> list[set[str]]:
    """The strongly connected parts, of more than one file, of the graph of all imports."""
    graph = nx.DiGraph()
    for room in ROOMS:
        for path in sources(room):
            for _line, module in deepest(imports_of(path)):
                graph.add_edge(module_of(path), module)
    return [cycle for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1]


def deepest(found: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """The package is left out where `from package import module` names a module of it."""
    pairs = list(found)
    return [(line, name) for line, name in pairs if (line, name) not in _packages_of_named_modules(pairs)]


def _packages_of_named_modules(pairs: list[tuple[int, str]]) -> set[tuple[int, str]]:
    return {(line, name.rpartition(".")[0]) for line, name in pairs if _is_module(name)}


def test_labsite_imports_spark_reports_inside_functions_only():
    offences = []
    for path in sources("labsite"):
        for node in parsed(path).body if name_of(path) not in WORKER_ONLY else []:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            offences += [
                f"{name_of(path)}:{line} imports {module}"
                for line, module in imports(node, "labsite")
                if module.startswith("spark_reports")
            ]
    no_offences(offences)


@pytest.mark.parametrize("module", ["simulator", "labsite.asgi"])
def test_importing_a_package_loads_neither_spark_nor_for_the_simulator_django(module):
    banned = {"simulator": ("django", "channels", "pyspark"), "labsite.asgi": ("pyspark", "py4j")}[module]
    every_address = (
        "from django.urls import get_resolver; get_resolver().url_patterns\n"
        if module == "labsite.asgi"
        else ""
    )
    program = (
        f"import sys, {module}\n{every_address}print(sorted(name for name in {banned!r} if name in "
        f"sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.stdout.strip().splitlines()[-1:] == ["[]"], answer.stdout + answer.stderr


# --- what the simulator must not do


def test_simulator_uses_no_unowned_randomness():
    offences = []
    for path in sources("simulator"):
        may_identify = name_of(path) in IDENTITY_ALLOWED
        for node in ast.walk(parsed(path)):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "random"
                and isinstance(node.value, ast.Name)
                and node.value.id in ("np", "numpy")
            ):
                offences.append(f"{name_of(path)}:{node.lineno} uses numpy's generators")
            if (
                not may_identify
                and isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("hash", "id")
            ):
                offences.append(
                    f"{name_of(path)}:{node.lineno} calls {node.func.id}(), which differs between processes"
                )
    no_offences(offences)


def test_simulator_iterates_over_no_set():
    offences = []
    for path in sources("simulator"):
        tree = parsed(path)
        known, orderless = _names_of_sets(tree), _orderless(tree)
        for node in ast.walk(tree):
            for iterated in [] if node in orderless else _iterated(node):
                if _is_set(iterated, known):
                    offences.append(
                        f"{name_of(path)}:{iterated.lineno} iterates over a set: {ast.unparse(iterated)}"
                    )
    no_offences(offences)


def _iterated(node: ast.AST) -> list[ast.expr]:
    """The expressions whose order `node` takes over. `sorted`, `len`, `min`, `max`, `in` take none."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
        return [generator.iter for generator in node.generators]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("list", "tuple", "iter", "enumerate", "next", "zip")
    ):
        return list(node.args)
    return []


def _orderless(tree: ast.AST) -> set[ast.AST]:
    """Comprehensions whose order is lost immediately, because a sort or a sum consumes them."""
    takers = ("sorted", "sum", "min", "max", "any", "all", "len", "set", "frozenset", "BitMap")
    calls = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in takers
    )
    return {
        argument
        for call in calls
        for argument in call.args
        if isinstance(argument, (ast.GeneratorExp, ast.ListComp))
    }


def _is_set(node: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("set", "frozenset")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub)):
        return _is_set(node.left, known) or _is_set(node.right, known)
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in known


def _names_of_sets(tree: ast.AST) -> frozenset[str]:
    """Names and attributes that are annotated as sets or assigned one, anywhere in the file."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
            if ast.unparse(node.annotation).split("[")[0] in ("set", "frozenset"):
                names.add(node.arg if isinstance(node, ast.arg) else ast.unparse(node.target))
        elif isinstance(node, ast.Assign) and _is_set(node.value, frozenset()):
            names.update(ast.unparse(target) for target in node.targets)
    return frozenset(names)


# --- form


@pytest.mark.parametrize("room", ROOMS)
def test_python_files_open_with_a_docstring_and_their_functions_stay_short(room):
    offences, longer = [], set()
    limit = TEST_FUNCTION_LINES_LIMIT if room == "tests" else FUNCTION_LINES_LIMIT
    for path in sources(room):
        tree = parsed(path)
        if tree.body and ast.get_docstring(tree) is None:
            offences.append(f"{name_of(path)} has no docstring at its head")
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.end_lineno - node.lineno + 1 > limit:
                    longer.add(f"{name_of(path)} {node.name}")
    known = {one for one in STILL_LONGER if one.startswith(f"{room}/")}
    offences += [f"{one} is longer than {limit} lines" for one in sorted(longer - known)]
    offences += [f"{one} is short now: take it out of STILL_LONGER" for one in sorted(known - longer)]
    no_offences(offences)


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "tests"])
def test_the_first_sentence_of_a_docstring_ends_on_its_first_line(room):
    no_offences(
        [
            f"{name_of(path)}:{line} {first}"
            for path in sources(room)
            for line, first in unfinished_docstrings(parsed(path))
        ]
    )


def unfinished_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of the first lines of docstrings that are too long or have no end of a sentence."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = (ast.get_docstring(node) or "").partition("\n")[0].rstrip()
            if ast.get_docstring(node) is not None and not FIRST_SENTENCE.fullmatch(first):
                yield node.body[0].lineno, first


def test_no_todo_and_no_hidden_error():
    marks = re.compile(
        r"\b(TO"
        + r"DO|FIX"
        + r"ME|NotImplemented"
        + r"Error)\b|py"
        + r"test\.skip|mark\.(skip|xfail)|import"
        + r"orskip"
    )
    offences = []
    for room in ROOMS:
        for path in sources(room):
            text = path.read_text(encoding="utf-8")
            offences += [
                f"{name_of(path)}:{number} {line.strip()}"
                for number, line in enumerate(text.splitlines(), 1)
                if marks.search(line)
            ]
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ExceptHandler) and _swallows(node):
                    offences.append(
                        f"{name_of(path)}:{node.lineno} catches everything and goes on in silence"
                    )
    no_offences(offences)


def _swallows(handler: ast.ExceptHandler) -> bool:
    broad = handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )
    return broad and all(isinstance(statement, (ast.Pass, ast.Continue)) for statement in handler.body)


def texts() -> Iterator[Path]:
    """Every text file of the project that was written by people."""
    here = [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(("db.", ".git"))]
    for folder in (*ROOMS, "static", "templates", "docs", ".ci"):
        here += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(here):
        if path.suffix in (
            ".py",
            ".js",
            ".mjs",
            ".css",
            ".html",
            ".md",
            ".toml",
            ".txt",
            ".yaml",
            ".json",
            ".sh",
            "",
        ) and not {"__pycache__", "node_modules"} & set(path.parts):
            yield path


def test_no_file_contains_a_path_of_one_machine():
    machine = re.compile(r"(?<![\w.$}])/(?:work|root|farm|home|tmp)/[\w.]")
    registry = re.compile("pyp" + r"i\.org|npm" + r"js\.(?:org|com)|files\.python" + "hosted")
    offences = []
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if machine.search(line) or registry.search(line):
                offences.append(f"{name_of(path)}:{number} {line.strip()[:120]}")
    no_offences(offences)


# --- the page's own code


def page_modules() -> list[Path]:
    vendored = ROOT / "static" / "vendor"
    return [path for path in sorted((ROOT / "static").rglob("*.js")) if vendored not in path.parents]


def test_browser_tests_wait_for_conditions_and_never_for_a_length_of_time():
    """On a busy machine any length of time is too short.

    An element that was counted may have changed when it is read. `tests/browser/conftest.py` describes what to do instead.
    """
    waits = re.compile(
        r"wait_for_timeout\(|\.new_context\(|browser\.new_page\(|assert .*\.count\(\)|assert "
        r".*inner_text\(\)|timeout=\d"
    )
    offences = []
    for path in sorted((ROOT / "tests" / "browser").glob("test_*.py")):
        lines = enumerate(path.read_text().splitlines(), 1)
        offences += [
            f"{name_of(path)}:{number} {line.strip()}"
            for number, line in lines
            if waits.search(line) and "at_rest()" not in line
        ]
    no_offences(offences)


def test_page_modules_write_no_markup_from_data():
    forbidden = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function)\b")
    offences = []
    for path in page_modules():
        offences += [
            f"{name_of(path)}:{number} {line.strip()}"
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if forbidden.search(line)
        ]
    no_offences(offences)


def test_page_imports_are_relative_complete_and_end_in_a_semicolon():
    statement = re.compile(r"^(?:import|export)\b[^;'\"()]*?(?:from\s*)?(['\"])([^'\"]+)\1(.?)", re.MULTILINE)
    offences = []
    for path in page_modules():
        for found in statement.finditer(path.read_text()):
            if found.group(0).startswith("export") and " from" not in found.group(0).replace("\n", " "):
                continue
            where = f"{name_of(path)} {found.group(2)}"
            if not found.group(2).startswith(("./", "../")) or not found.group(2).endswith(".js"):
                offences.append(f"{where}: imports are relative and end in .js")
            if found.group(3) != ";":
                offences.append(
                    f"{where}: the import does not end in a semicolon, which Django's file hashing needs"
                )
    no_offences(offences)


def test_no_page_requests_anything_from_another_host():
    offences = []
    for path in [*page_modules(), *sources("static", ".css"), *sources("templates", ".html")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"(?:src|url|import|fetch|@import)[^\n]{0,20}['\"(](?:https?:)?//", line):
                offences.append(f"{name_of(path)}:{number} {line.strip()[:120]}")
    no_offences(offences)
