"""Installs the brokers of one Pulsar version on first use: jars and compiled programs.

Everything is in `failover-lab/pulsar-VERSION/` of the user's cache folder (`$XDG_CACHE_HOME`, or `~/.cache`):
`lib/` has the jars of `org.apache.pulsar:pulsar-broker`, which Maven downloads, `classes-HASH/` the programs
of `java/lab/`, compiled again when a source changes. Both are written to a temporary folder and renamed when
complete, so an interrupted installation is repeated and never used.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script.support.system import JAVA_LEAST, free_port
from simulator.scenarios.settings import OPTIONS

# --- differences between Pulsar's versions that a scenario can depend on


DEFAULT_VERSION = "4.2.4"
OLDER_VERSION = "4.0.7"
"""The second tested version: its snapshot cache evicts the oldest snapshot."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version; raises ValueError for a text that is none, such as "latest"."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f'"{version}" is not a version of Pulsar; write three numbers, such as 4.2.4')
    return tuple(int(part) for part in version.split("."))


def evicts_oldest_first(version: str) -> bool:
    """Whether a full snapshot cache evicts its oldest snapshot: before 4.0.9, and 4.1.0 to 4.1.2."""
    found = numbers(version)
    return found < (4, 0, 9) or (4, 1, 0) <= found < (4, 1, 3)


def options_of(version: str) -> dict[str, Any]:
    """The engine's options that describe this version, where they differ from the engine's defaults."""
    # #26655 is in no release
    options: dict[str, Any] = {"initialSnapshotCoversOlder": False, "timing": "measured"}
    if evicts_oldest_first(version):
        options["snapshotCacheRule"] = "oldest-first"
    return options


def newest_with(rule: str) -> str:
    """A tested version with this cache rule."""
    return OLDER_VERSION if rule == "oldest-first" else DEFAULT_VERSION


def version_for(options: Mapping[str, Any]) -> str:
    """The tested version on which a scenario with these options is played."""
    return newest_with(options.get("snapshotCacheRule", OPTIONS["snapshotCacheRule"].default))


# --- what the machine must have for real brokers: memory, and ports (Java and Maven: `install.py`)


CLUSTER_MB = 750
CLIENTS_MB = 500
"""Memory of a cluster's process and of the clients' process after hundreds of runs."""

MEMORY = Path("/proc/meminfo")


def check_memory(clusters: int, memory: Path = MEMORY) -> None:
    """Raise `InstallationError` if less memory is available than the processes will use."""
    available = available_mb(memory)
    needed = clusters * CLUSTER_MB + CLIENTS_MB
    if available is not None and available < needed:
        raise InstallationError(
            f"{clusters} real clusters and their clients need about {needed} MB of memory, and "
            f"{available} MB are available. End other programs, or play a scenario with fewer clusters."
        )


def available_mb(memory: Path = MEMORY) -> int | None:
    """Megabytes that are available, None where the system does not say."""
    try:
        lines = memory.read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def load_average() -> float:
    """The processes that wanted to run during the last minute, on average."""
    return round(os.getloadavg()[0], 1)


def busy(load: float, cores: int | None = None) -> str | None:
    """A warning when the machine has more to do than it can, which makes brokers and clients late."""
    cores = cores or os.cpu_count() or 1
    if load <= cores:
        return None
    return (
        f"The machine is busy: a load of {load} on {cores} cores. Brokers and clients will be late, so that "
        "snapshots take longer than the links alone explain. End other programs, or lower --at-once."
    )


def take_ports(count: int) -> list[int]:
    """So many different free ports; raises `InstallationError` if this machine gives none."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
    except OSError as error:
        raise InstallationError(
            f"No port of 127.0.0.1 can be opened ({error.strerror}); the brokers listen there. Allow it."
        ) from None
    chosen: list[int] = []
    while len(chosen) < count:
        port = free_port()
        if port not in chosen:
            chosen.append(port)
    return chosen


HERE = Path(__file__).resolve().parent
SOURCES = HERE / "java"
POM = HERE / "pom.xml"
LOGGING = SOURCES / "log4j2.properties"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
PROGRESS_EVERY_JARS = 50

OPENINGS = (
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.base/sun.nio.ch",
    "java.management/sun.management",
)
"""Packages of the JDK that Netty, BookKeeper and Pulsar use by reflection, as in its script `bin/pulsar`."""

JAVA_MISSING = (
    f"The real brokers need a JDK {JAVA_LEAST} or newer (java and javac), and {{found}}. Debian, Ubuntu: "
    "apt-get install openjdk-17-jdk-headless. Fedora: dnf install java-17-openjdk-devel. macOS: brew install "
    "openjdk@17. JAVA_HOME selects one of several."
)
MAVEN_MISSING = (
    "The first use of Pulsar {version} downloads its jars (about 240 MB) with Maven, and there is no mvn "
    "on the PATH. Debian, Ubuntu: apt-get install maven. Fedora: dnf install maven. "
    "macOS: brew install maven."
)

Say = Callable[[str], None]


class InstallationError(RuntimeError):
    """What is missing or failed, and what to do about it."""


@dataclass(frozen=True)
class Installation:
    """The brokers of one version, ready to run."""

    version: str
    java: str
    classpath: str

    def command(self, main_class: str, options: Iterable[str] = ()) -> list[str]:
        """The command line that runs a Java program with Pulsar's jars."""
        added = [f"--add-opens={opening}=ALL-UNNAMED" for opening in OPENINGS]
        added += ["-Dio.netty.tryReflectionSetAccessible=true", f"-Dlog4j2.configurationFile={LOGGING}"]
        return [self.java, *options, *added, "-cp", self.classpath, main_class]


def installed(version: str, say: Say) -> Installation:
    """The installation of `version`, made now if it does not exist yet; `say` is told the progress."""
    java, javac = java_programs()
    folder = cache_folder() / f"pulsar-{version}"
    lib = folder / "lib"
    if not lib.exists():
        _download(version, lib, say)
    jars = str(lib / "*")
    sources = sorted((SOURCES / "lab").rglob("*.java"))
    classes = folder / f"classes-{_sources_hash(sources)}"
    if not classes.exists():
        say(f"Compiling {len(sources)} Java files for Pulsar {version}…")
        _compile(javac, jars, sources, classes)
    return Installation(version, java, os.pathsep.join((str(classes), jars)))


def cache_folder() -> Path:
    """The folder of all installed versions."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "failover-lab"


def java_programs() -> tuple[str, str]:
    """Paths of java and javac; raises `InstallationError` if one is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    found = [str(Path(home) / "bin" / name) if home else name for name in ("java", "javac")]
    for program in found:
        path = shutil.which(program)
        if path is None:
            raise InstallationError(JAVA_MISSING.format(found=f"there is no {program}"))
        version = _java_version(path)
        if version < JAVA_LEAST:
            raise InstallationError(JAVA_MISSING.format(found=f"{program} has version {version}"))
    return found[0], found[1]


def _java_version(program: str) -> int:
    """The major version that the program prints, 0 if it prints something else."""
    answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'(?:version "|javac )(\d+)', answer.stdout + answer.stderr)
    return int(match.group(1)) if match else 0


def _download(version: str, lib: Path, say: Say) -> None:
    """Copy all jars of the broker into the folder `lib`, which appears only when it is complete."""
    maven = shutil.which("mvn")
    if maven is None:
        raise InstallationError(MAVEN_MISSING.format(version=version))
    lib.parent.mkdir(parents=True, exist_ok=True)
    say(f"Downloading the jars of Pulsar {version} with Maven (about 240 MB, once; about 3 minutes)…")
    with tempfile.TemporaryDirectory(prefix="downloading-", dir=lib.parent) as temporary:
        target = Path(temporary) / "lib"
        command = [maven, "-B", "-f", str(_copied_pom(Path(temporary))), f"-Dpulsar.version={version}"]
        command += [f"{DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={target}"]
        command += ["-DincludeScope=runtime"]
        errors = _run_maven(command, say)
        if errors or not list(target.glob(f"pulsar-broker-{version}.jar")):
            raise InstallationError(
                f"Maven could not download Pulsar {version}; it said:\n{errors or 'nothing'}\n"
                "Check the version and the connection to Maven's repository, then start again."
            )
        _rename_complete(target, lib)
    say(f"Pulsar {version} is installed in {lib.parent}.")


def _copied_pom(folder: Path) -> Path:
    """The pom in a folder of its own, so that Maven writes nothing into the checkout."""
    return Path(shutil.copy(POM, folder / "pom.xml"))


def _run_maven(command: list[str], say: Say) -> str:
    """Run Maven, report every 50th download, and return its error lines, empty if it succeeded."""
    downloaded, errors = 0, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as maven:
        for line in maven.stdout or ():
            if "Downloaded" in line and ".jar" in line:
                downloaded += 1
                if downloaded % PROGRESS_EVERY_JARS == 0:
                    say(f"{downloaded} jars downloaded…")
            if line.startswith("[ERROR]"):
                errors.append(line.removeprefix("[ERROR]").strip())
    if maven.returncode == 0:
        return ""
    return "\n".join(errors) or f"exit code {maven.returncode}"


def _sources_hash(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _compile(javac: str, jars: str, sources: list[Path], classes: Path) -> None:
    """Compile the programs into the folder `classes`, which appears only when it is complete."""
    with tempfile.TemporaryDirectory(prefix="compiling-", dir=classes.parent) as temporary:
        target = Path(temporary) / "classes"
        command = [javac, "-nowarn", "-proc:none", "-encoding", "UTF-8", "--release", str(JAVA_LEAST)]
        command += ["-cp", jars, "-d", str(target), *(str(source) for source in sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InstallationError(
                f"The programs in {SOURCES} do not compile with these jars; another Pulsar version may have "
                f"other classes. javac said:\n{done.stderr}"
            )
        _rename_complete(target, classes)


def _rename_complete(target: Path, final: Path) -> None:
    """Rename a complete folder to its final name; another process may have been faster."""
    try:
        target.rename(final)
    except OSError:
        if not final.exists():
            raise
