"""The live lab: pages, socket, pump. Uses the simulator's front door, and never imports PySpark."""
