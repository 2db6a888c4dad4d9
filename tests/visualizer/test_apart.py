"""A command given with `apart` begins a branch at the front of the run too.

The branch before is the run without it.
"""

from __future__ import annotations

from tests.visualizer.pages import Page


async def test_a_command_given_apart_is_undone_by_selecting_the_previous_branch(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    await page.send(
        {"type": "command", "id": 1, "apart": True, "command": {"do": "cluster.crash", "cluster": "a"}}
    )
    result = await page.until("result")
    assert result["ok"]
    frame = await page.frame(lambda frame: frame["snapshot"] and frame["branch"] == 1)
    assert frame["at_us"] == 3_000_000 and frame["view"]["clusters"]["a"]["state"] == "down"
    assert [(branch["number"], branch["parent"], branch["at_us"]) for branch in frame["branches"]] == [
        (0, None, 0),
        (1, 0, 3_000_000),
    ]
    await page.send({"type": "branch", "number": 0})
    frame = await page.frame(lambda frame: frame["snapshot"] and frame["branch"] == 0)
    assert frame["view"]["clusters"]["a"]["state"] == "up"
    frame = await page.seek(4_000_000)
    assert frame["view"]["clusters"]["a"]["state"] == "up", "the branch before goes on without the command"
    await page.close()


async def test_a_command_not_given_apart_stays_in_its_branch(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    result = await page.command(do="cluster.crash", cluster="a")
    assert result["ok"]
    frame = await page.seek(3_500_000)
    assert frame["branch"] == 0 and frame["view"]["clusters"]["a"]["state"] == "down"
    await page.close()
