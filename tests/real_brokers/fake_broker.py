"""A stand-in for the rig's Java programs: speaks their protocol, keeps one log in memory, ends with its input.

Rules: standard library only; run as `python fake_broker.py lab.BrokerProcess|lab.ClientProcess`. Logs are
not replicated. It shows the driver's behaviour, never Pulsar's.
"""

from __future__ import annotations

import json
import sys
import threading
import time

LOCK = threading.Lock()


def emit(message: dict) -> None:
    with LOCK:
        print(json.dumps(message), flush=True)


class Broker:
    """Answers every request; a watched topic gets the event that its snapshot controller started."""

    def __init__(self) -> None:
        self.requests: list[dict] = []

    def answer(self, request: dict) -> dict:
        do = request["do"]
        self.requests.append(request)
        if do == "start":
            return {"ready_ms": 1}
        if do == "watch":
            for topic in request["topics"]:
                emit({"e": "controller", "t": time.monotonic_ns(), "topic": topic, "state": "started"})
        if do == "dump":
            now_ns = time.monotonic_ns()
            late = {"ledger": 1, "entry": 1, "stored_ns": now_ns, "producer": "late", "sequence": 1}
            first = {"ledger": 1, "entry": 0, "stored_ns": 1, "producer": "first", "sequence": 0}
            return {"entries": [first, late]}
        if do == "topic.unload" and request["topic"].startswith("persistent://lab/east-west/refused"):
            raise ValueError("this topic refuses to be unloaded")
        return {}


class Clients:
    """Producers publish at their instants, consumers only connect."""

    def __init__(self) -> None:
        self.producers: dict[str, dict] = {}
        self.names: list[str] = []

    def answer(self, request: dict) -> dict:
        do, name = request["do"], request.get("name")
        if do in ("producer", "consumer"):
            if name in self.names:
                raise ValueError(f"there is already a client {name}")
            self.names.append(name)
            self.producers[name] = request
            emit({"e": "connected", "t": time.monotonic_ns(), do: name})
        elif do == "producer.start":
            threading.Thread(target=self.publish, args=(name, request["start_ns"]), daemon=True).start()
        elif do.endswith((".close", ".kill", ".stop")):
            self.names.remove(name)
            emit({"e": "disconnected", "t": time.monotonic_ns(), do.partition(".")[0]: name})
        return {}

    def publish(self, name: str, start_ns: int) -> None:
        plan = self.producers[name]
        for number in range(plan["count"] or 0):
            time.sleep(max(0, start_ns + number * plan["every_ns"] - time.monotonic_ns()) / 1e9)
            if name not in self.names or self.producers[name] is not plan:
                return
            sequence = plan["first_sequence"] + number
            now_ns = time.monotonic_ns()
            emit({"e": "published", "t": now_ns, "producer": name, "sequence": sequence})


def main() -> None:
    program = Broker() if sys.argv[1] == "lab.BrokerProcess" else Clients()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            emit({"id": request["id"], "ok": True, **program.answer(request)})
        except ValueError as error:
            emit({"id": request["id"], "ok": False, "error": str(error)})


if __name__ == "__main__":
    main()
