"""The engine's version, part of every summary, trace file and link."""

ENGINE_VERSION = "0.1.0"
