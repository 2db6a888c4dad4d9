"""Cases of the commands about tenants' migrations for `test_engine_commands.py`.

Accepted with an effect, refused with a code.

The world is at 1.01 s; `mine` is a topic of the tenant acme, which is in cluster a, without clients.
"""

from tests.simulator.engine_runs import MS, rows

AT_US = 1010 * MS
MIGRATE = {"tenant": "acme", "to": "b"}
START = {"do": "migration.start", **MIGRATE}
ACME = {"tenant": "acme"}


def migration(world):
    """The newest migration of the live view."""
    return world.view()["migrations"][-1]


def later(check, ms):
    """A check some time after the command."""

    def run_and_check(world):
        world.run(AT_US + ms * MS)
        return check(world)

    return run_and_check


MIGRATION_CASES = {
    "migration.start": (
        (
            [],
            MIGRATE,
            later(
                lambda w: migration(w)["at"] == "switch" and "mine" in w.view()["clusters"]["b"]["topics"],
                1500,
            ),
        ),
        ([], {**MIGRATE, "to": "a"}, "same-cluster"),
    ),
    "migration.pause": (
        (
            [START],
            ACME,
            later(lambda w: migration(w)["state"] == "paused" and migration(w)["at"] == "metadata", 1500),
        ),
        ([], ACME, "no-migration"),
    ),
    "migration.resume": (
        (
            [START, {"do": "migration.pause", **ACME}],
            ACME,
            later(lambda w: migration(w)["at"] == "switch", 1500),
        ),
        ([START], ACME, "wrong-state"),
    ),
    "migration.advance": (
        (
            [],
            None,
            None,
        ),  # see test_migration.py: the migration needs time to reach the state in which the command is allowed
        ([START], ACME, "wrong-state"),
    ),
    "migration.switch": (([], None, None), ([START], {**ACME, "force": True}, "nothing-there")),
    "migration.clean-up": (([], None, None), ([START], ACME, "wrong-state")),
    "migration.roll-back": (
        ([START], ACME, later(lambda w: migration(w)["state"] == "rolled-back", 500)),
        ([START, {"do": "migration.roll-back", **ACME}], ACME, "ended"),
    ),
    "lookup.stop": (
        ([], {}, lambda w: not w.view()["lookup"]["up"]),
        ([{"do": "lookup.stop"}], {}, "not-up"),
    ),
    "lookup.start": (([{"do": "lookup.stop"}], {}, lambda w: w.view()["lookup"]["up"]), ([], {}, "not-down")),
    "cluster.migrate": (
        ([], {"cluster": "a", "to": "b"}, lambda w: rows(w, "cluster.migration-marked")[0]["count"] == 1),
        ([], {"cluster": "a"}, "400"),
    ),
    "namespace.migrate": (
        (
            [{"do": "cluster.migrate", "cluster": "a", "to": "b", "migrated": False}],
            {"cluster": "a", "namespace": "acme/shop"},
            lambda w: rows(w, "cluster.migration-marked")[-1]["detail"] == "acme/shop",
        ),
        ([], {"cluster": "a", "namespace": "acme/shop"}, "400"),
    ),
}
