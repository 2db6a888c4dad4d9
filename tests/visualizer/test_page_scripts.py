"""A page's modules, bundled into one script, behave like the modules.

Every export of each, and no form is guessed.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from visualizer.pages.page_scripts import PAGES, NotUnderstood, _as_function, one_script

STATIC = Path(__file__).resolve().parents[2] / "static"
EXPORTS = "(exported) => Object.entries(exported).map(([name, value]) => [name, typeof value]).sort()"


def run_in_node(script: str) -> object:
    node = shutil.which("node")
    assert node, (
        "Node 18 or newer is needed for the tests of the page's modules. Debian: apt-get install nodejs."
    )
    answer = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, timeout=120, check=False
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout)


def test_every_module_has_the_same_exports_in_the_bundle():
    entry = "js/pages/lab_page.js"  # the whole lab page except the line that starts it
    together = run_in_node(
        f"{one_script(entry)}\nconsole.log(JSON.stringify(Object.entries(modules).map(([name, exported]) "
        f"=> [name, ({EXPORTS})(exported)])));"
    )
    names = [name for name, _ in together]
    assert len(names) > 100 and names[-1] == entry
    native = run_in_node(
        "\n".join(
            [
                f"const found = []; const exportsOf = {EXPORTS};",
                *(
                    (
                        f"found.push([{json.dumps(name)}, exportsOf(await "
                        f"import({json.dumps((STATIC / name).as_uri())}))]);"
                    )
                    for name in names
                ),
                "console.log(JSON.stringify(found));",
            ]
        )
    )
    assert together == native


@pytest.mark.parametrize(
    "source",
    [
        "export default 1;",
        'import "./other.js";',
        'import * as all from "./other.js";',
        'export * from "./other.js";',
        'import { a } from "package";',
    ],
)
def test_an_unknown_form_of_import_is_an_error(source):
    with pytest.raises(NotUnderstood, match=r"js/x\.js"):
        _as_function("js/x.js", f"const before = 1;\n{source}\n")


def test_renamed_imports_and_export_lists_are_bundled():
    text = _as_function(
        "js/a/x.js",
        'import { one, two as second } from "../b/y.js";\nexport { one };\nexport const three = second;\n',
    )
    assert 'const { one, two: second } = modules["js/b/y.js"];' in text
    assert "return { three, one };" in text


@pytest.mark.parametrize("page", PAGES)
def test_a_page_requests_its_script_and_gets_304_when_it_has_it_already(page):
    client = Client()
    answer = client.get(f"/scripts/{page}.js", headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Content-Encoding"] == "gzip" and "Accept-Encoding" in answer["Vary"]
    plain = client.get(f"/scripts/{page}.js")
    assert "Content-Encoding" not in plain and gzip.decompress(answer.content) == plain.content
    assert client.head(f"/scripts/{page}.js").status_code == 200
    assert client.get(f"/scripts/{page}.js", headers={"If-None-Match": answer["ETag"]}).status_code == 304


def test_an_unknown_page_has_no_script():
    assert Client().get("/scripts/nothing.js").status_code == 404
