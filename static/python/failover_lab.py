"""A small client of Failover Lab's HTTP API. It needs Python 3.9 and nothing else.

lab = FailoverLab("http://127.0.0.1:8000")
run = lab.run("two-regions", until_s=8, commands=[
    {"at_us": 7_000_000, "do": "cluster.crash", "cluster": "us-west"},
])
print(run.summary()["trace_sha256"], run.url)
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any


class Refused(Exception):
    """The server refused a request: `code`, what is wrong, and in `hint` what would be right."""

    def __init__(self, code: str, error: str, hint: str = "") -> None:
        super().__init__(f"{error} {hint}".strip())
        self.code, self.hint = code, hint


class FailoverLab:
    """A site, by its address."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def scenarios(self) -> list[dict[str, Any]]:
        """The built-in scenarios: name, title, family, about, watch, until_us, seed."""
        return self.get("/api/scenarios.json")

    def run(
        self,
        scenario: str | None = None,
        *,
        yaml: str | None = None,
        seed: int | None = None,
        until_s: float = 0,
        commands: list[dict[str, Any]] | None = None,
    ) -> Run:
        """Run a built-in scenario, or a text, up to an instant; raises Refused.

        `commands` are in order, each with its instant in `at_us`.
        """
        given = {"scenario": scenario, "yaml": yaml, "seed": seed}
        document = {name: value for name, value in given.items() if value is not None}
        until_us = round(until_s * 1_000_000)
        return self.open({"format": 1, "commands": commands or [], "until_us": until_us, **document})

    def open(self, document: dict[str, Any]) -> Run:
        """Repeat a run from its document (`Run.document`)."""
        made = self.post("/run/", document)
        return Run(self, made["id"], made["token"], self.address + made["url"])

    def lab(self, name: str, token: str) -> Run:
        """A lab that exists, by its id and its owner's token (Share, Owner's link)."""
        return Run(self, name, token, f"{self.address}/labs/{name}/")

    def get(self, path: str) -> Any:
        """The JSON answer of an address."""
        return json.loads(self.download(path))

    def download(self, path: str) -> bytes:
        """The file at an address."""
        return self._ask(urllib.request.Request(self.address + path))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a JSON body; returns the JSON answer."""
        headers = {"Content-Type": "application/json"}
        data = json.dumps(body).encode()
        return json.loads(self._ask(urllib.request.Request(self.address + path, data, headers)))

    def _ask(self, request: urllib.request.Request) -> bytes:
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - the address is the caller's
                return answer.read()
        except urllib.error.HTTPError as error:
            body = error.read()
            try:
                refused = json.loads(body)
                raise Refused(refused["code"], refused["error"], refused.get("hint", "")) from None
            except (ValueError, KeyError):
                raise Refused(str(error.code), f"{request.full_url}: {error.reason}") from None


class Run:
    """A run in a lab of its own. `url` opens it in a browser; with `#token=…` its owner controls it."""

    def __init__(self, lab: FailoverLab, name: str, token: str, url: str) -> None:
        self._lab, self.id, self.token, self.url = lab, name, token, url

    def seek(self, at_s: float) -> dict[str, int]:
        """Run to an instant, or go back to it: {"at_us", "branch"}."""
        body = {"token": self.token, "at_us": round(at_s * 1_000_000)}
        return self._lab.post(f"/labs/{self.id}/seek/", body)

    def command(self, do: str, *, at_s: float | None = None, apart: bool = False, **arguments: Any) -> Any:
        """Give a command at the instant shown, or at `at_s`: {"at_us", "branch"}; raises Refused.

        At a past instant it begins a branch, with `apart` at the end of the run too. An argument that is no
        name in Python is given as in `run.command("subscription.fail-over", **{"from": "us-west", …})`.
        """
        body = {"token": self.token, "command": {"do": do, **arguments}, "apart": apart}
        at = {} if at_s is None else {"at_us": round(at_s * 1_000_000)}
        return self._lab.post(f"/labs/{self.id}/commands/", {**body, **at})

    def summary(self) -> dict[str, Any]:
        """Figures of the run up to the instant shown, as `simulate --json` prints them."""
        return self._lab.get(f"/labs/{self.id}/summary.json")

    def document(self) -> dict[str, Any]:
        """Everything that another server of this version needs to repeat the run."""
        return self._lab.get(f"/labs/{self.id}/run.json")

    def rows(self, control: bool = True) -> list[dict[str, Any]]:
        """The events of the run, without those of messages unless `control` is false."""
        found: list[dict[str, Any]] = []
        first = 0
        while True:
            path = f"/labs/{self.id}/rows.json?first={first}&limit=2000&control={int(control)}"
            part = self._lab.get(path)
            found += part["rows"]
            if part["next"] is None:
                return found
            first = part["next"]

    def report(self, every_s: float = 1.0) -> Report:
        """Order a report and wait for it; raises Refused when it failed."""
        ordered = self._lab.post(f"/labs/{self.id}/reports/", {"token": self.token})
        while True:
            status = self._lab.get(f"/reports/{ordered['id']}/status.json")
            if status["over"]:
                break
            time.sleep(every_s)
        if status["state"] != "done":
            raise Refused(status["state"], status["words"])
        return Report(self._lab, ordered["id"])


class Report:
    """A finished report."""

    def __init__(self, lab: FailoverLab, name: str) -> None:
        self._lab, self.id = lab, name
        self.url = f"{lab.address}/reports/{name}/"

    def download(self, kind: str) -> bytes:
        """One file: json, html, csv, parquet or trace."""
        return self._lab.download(f"/reports/{self.id}/download/{kind}/")
