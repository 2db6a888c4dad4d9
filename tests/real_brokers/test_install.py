"""Installation of the brokers: what is missing is named, and only a complete download or compilation is used."""

from __future__ import annotations

import os
import re

import pytest

from script.real_brokers import install
from script.real_brokers.install import InstallationError, installed

MAVEN = """#!/bin/sh
for word in "$@"; do
  case "$word" in -DoutputDirectory=*) target="${word#-DoutputDirectory=}";; esac
done
mkdir -p "$target"
echo "Downloaded from central: one.jar"
%s
"""
JAVAC = """#!/bin/sh
if [ "$1" = -version ]; then echo "javac %s"; exit 0; fi
while [ "$#" -gt 0 ]; do [ "$1" = -d ] && target="$2"; shift; done
mkdir -p "$target"
%s
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with Java 17 and a Maven that downloads at once; its programs can be replaced."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.defpath)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    place(programs / "java", "#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025' >&2\n")
    place(programs / "javac", JAVAC % ("17.0.15", "touch $target/BrokerProcess.class"))
    place(programs / "mvn", MAVEN % "touch $target/pulsar-broker-4.2.4.jar")
    return programs


def place(path, text):
    path.write_text(text)
    path.chmod(0o755)


def test_the_first_use_downloads_and_compiles_and_the_second_does_neither(machine):
    said = []
    first = installed("4.2.4", said.append)
    assert [re.sub(r"\d+ Java", "n Java", text).split(" (")[0] for text in said] == [
        "Downloading the jars of Pulsar 4.2.4 with Maven",
        f"Pulsar 4.2.4 is installed in {install.cache_folder() / 'pulsar-4.2.4'}.",
        "Compiling n Java files for Pulsar 4.2.4…",
    ]
    said.clear()
    assert installed("4.2.4", said.append) == first
    assert said == []


def test_the_command_line_has_the_programs_before_the_jars(machine):
    command = installed("4.2.4", print).command("lab.BrokerProcess", ["-Xmx1m"])
    classes, jars = command[command.index("-cp") + 1].split(os.pathsep)
    assert re.search(r"pulsar-4\.2\.4/classes-[0-9a-f]{16}$", classes)
    assert jars.endswith("pulsar-4.2.4/lib/*")
    assert (command[0], command[1], command[-1]) == ("java", "-Xmx1m", "lab.BrokerProcess")


def test_a_changed_source_is_compiled_again(machine, tmp_path, monkeypatch):
    sources = tmp_path / "java"
    (sources / "lab").mkdir(parents=True)
    (sources / "lab" / "One.java").write_text("one")
    monkeypatch.setattr(install, "SOURCES", sources)
    first = installed("4.2.4", print)
    (sources / "lab" / "One.java").write_text("two")
    assert installed("4.2.4", print).classpath != first.classpath


def test_a_failed_download_is_reported_with_mavens_errors_and_leaves_nothing_behind(machine):
    place(machine / "mvn", MAVEN % "echo '[ERROR] Could not find artifact pulsar:pom:9.9.9'; exit 1")
    with pytest.raises(
        InstallationError, match=r"(?s)Pulsar 9\.9\.9.*Could not find artifact.*Check the version"
    ):
        installed("9.9.9", print)
    assert list((install.cache_folder() / "pulsar-9.9.9").iterdir()) == []


def test_a_download_without_the_broker_is_not_used(machine):
    place(machine / "mvn", MAVEN % "touch $target/another.jar")
    with pytest.raises(InstallationError, match="could not download Pulsar 4.2.4"):
        installed("4.2.4", print)
    assert not (install.cache_folder() / "pulsar-4.2.4" / "lib").exists()


def test_a_failed_compilation_shows_the_compilers_errors_and_is_not_used(machine):
    place(machine / "javac", JAVAC % ("17.0.15", "echo 'error: cannot find symbol' >&2; exit 1"))
    with pytest.raises(InstallationError, match="(?s)do not compile.*cannot find symbol"):
        installed("4.2.4", print)
    assert [path.name for path in (install.cache_folder() / "pulsar-4.2.4").iterdir()] == ["lib"]


def test_a_java_that_is_too_old_is_named_with_its_version(machine):
    place(machine / "javac", JAVAC % ("11.0.2", ""))
    with pytest.raises(InstallationError, match="JDK 17 or newer.*javac has version 11"):
        installed("4.2.4", print)


def test_a_missing_java_is_named(machine, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(InstallationError, match="there is no .*nothing/bin/java"):
        installed("4.2.4", print)


def test_maven_is_only_needed_for_a_version_that_is_not_installed(machine, monkeypatch):
    installed("4.2.4", print)
    (machine / "mvn").unlink()
    monkeypatch.setattr(install.shutil, "which", which_without_maven(install.shutil.which))
    installed("4.2.4", print)
    with pytest.raises(InstallationError, match="first use of Pulsar 4.0.7 .*no mvn on the PATH"):
        installed("4.0.7", print)


def which_without_maven(which):
    """The machine of this test may have a Maven in a folder that the PATH must contain."""
    return lambda name: None if name == "mvn" else which(name)
