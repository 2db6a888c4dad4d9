"""The live lab: pages, socket, pump. Uses the simulator's Python API, and never imports PySpark."""
