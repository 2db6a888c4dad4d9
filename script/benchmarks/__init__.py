"""What `script/bench` measures: one module for each part, each giving `Figure`s beside an alternative's.

No tests: figures depend on the machine.
"""
