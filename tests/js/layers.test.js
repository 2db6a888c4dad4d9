import assert from "node:assert/strict";
import { test } from "node:test";
import { exchangedBetween, layMachine, machinesNow, memberOf } from "../../static/js/protocols/emqx/pages/layers_panel.js";
import { badgeOf, clientsOf } from "../../static/js/protocols/emqx/model/groups.js";

const MACHINE = { start: "free", moves: { free: { granting: "a round" }, granting: { granted: "progress", revoked: "end", free: "gone" }, granted: { revoking: "too many", revoked: "end", free: "gone" }, revoking: { revoked: "done", free: "gone" }, revoked: { free: "exchanges" } } };

for (const turned of [false, true]) {
  test(`a state machine has a node for each state and a line for each move, none through another node${turned ? ", turned" : ""}`, () => {
    const laid = layMachine(MACHINE, { turned });
    assert.deepEqual(laid.nodes.map(({ state }) => state), Object.keys(MACHINE.moves));
    assert.equal(laid.edges.length, 10);
    for (const { path } of laid.edges) {
      const numbers = path.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
      const points = numbers.flatMap((x, at) => (at % 2 ? [] : [[x, numbers[at + 1]]]));
      for (const [x, y] of points) {
        assert.ok(x >= 0 && y >= 0 && x <= laid.width && y <= laid.height, `${path} stays inside`);
        assert.ok(!laid.nodes.some((node) => x > node.x + 0.5 && x < node.x + node.width - 0.5 && y > node.y + 0.5 && y < node.y + node.height - 0.5), `${path} crosses a state`);
      }
    }
    const landings = laid.edges.filter(({ to }) => to === "free").map(({ head }) => head.join());
    assert.equal(new Set(landings).size, landings.length, "arrows that end at one state end at places of their own");
  });
}

const row = (seq, type, more) => ({ seq, at_us: seq * 1000, type, subscription: "g", client: "ada", ...more });
const state = {
  welcome: { tables: { machines: { borrower: { start: "connecting", moves: { connecting: { connected: "answer", gone: "left" }, connected: { gone: "left" }, gone: {} } }, lease: { start: "absent", moves: { absent: { granted: "grant" }, granted: { revoking: "revoke", absent: "end" }, revoking: { absent: "revoked" } } }, assignment: MACHINE, leader: { start: "leading", moves: { leading: { crashed: "dies" }, crashed: {} } } } } },
  view: {
    sessions: { ada: { node: "n1", state: "online", subscriptions: ["$share/g/m"], borrowers: { "ada/0": { group: "g", state: "connected" } } }, ben: { node: "n1", state: "offline", subscriptions: [], borrowers: {} } },
    groups: { g: { text: "$share/g/m", claim: { leader: 1 }, ended: null, leaders: { 1: { node: "n1", borrowers: { "ada/0": {} }, streams: { s1: { state: "free", owner: null }, s2: { state: "granting", owner: "ada/0" } } } }, streams: { s1: { readers: {} }, s2: { readers: { "ada/0": { lease: "granted" } } } } } },
  },
};

test("the default is a client in the group and a stream that it reads; a choice applies while it exists", () => {
  assert.deepEqual(memberOf(state, "g", {}), { client: "ada", borrower: "ada/0", stream: "s2", clients: ["ada", "ben"], borrowers: ["ada/0"], streams: ["s1", "s2"] });
  assert.equal(memberOf(state, "g", { client: "ben" }).borrower, null);
  assert.equal(memberOf(state, "g", { client: "gone", stream: "s1" }).stream, "s1");
});

test("results computed from a state are cached", () => {
  assert.equal(clientsOf(state, "g"), clientsOf(state, "g"));
  assert.notEqual(clientsOf(state, "g"), clientsOf({ ...state }, "g"));
});

test("a machine's state is that of the view and its last move that of the rows, null while they disagree", () => {
  const member = { client: "ada", borrower: "ada/0", stream: "s2" };
  const rows = [row(1, "leader.elected", { client: undefined, count: 1, reason: "first" }), row(2, "borrower.changed", { count: 0, reason: "connecting" }), row(3, "borrower.changed", { count: 0, reason: "connected", detail: "answer" }), row(4, "assignment.changed", { topic: "s2", ledger: 1, count: 0, reason: "granting" }), row(5, "lease.changed", { topic: "s2", count: 0, reason: "granted", entry: 4 }), row(6, "assignment.changed", { topic: "s2", ledger: 1, count: 0, reason: "granted" })];
  const now = machinesNow(state, "g", member, rows);
  assert.deepEqual([now.borrower.now, now.borrower.last.from, now.borrower.last.to], ["connected", "connecting", "connected"]);
  assert.deepEqual([now.lease.now, now.lease.last.from], ["granted", "absent"]);
  assert.deepEqual([now.assignment.now, now.assignment.last], ["granting", null]);
  assert.deepEqual([now.leader.now, now.leader.last.from], ["leading", null]);
});

test("calls are between the layers of the session, messages below the borrower, with lost ones marked", () => {
  const rows = [row(1, "session.subscribed", { detail: "$share/g/m", count: 1 }), row(2, "borrower.changed", { count: 0, reason: "connecting" }), row(3, "protocol.sent", { reason: "ping", count: 7 }), row(4, "protocol.lost", { reason: "ping", count: 7 }), row(5, "protocol.sent", { reason: "grant", topic: "s2", entry: 0, count: 8 }), row(6, "lease.changed", { reason: "granted", topic: "s2", entry: 0, count: 0 }), row(7, "progress.told", { topic: "s2", count: 3 }), row(8, "protocol.sent", { client: "ben", reason: "ping", count: 9 })];
  const exchanges = exchangedBetween(rows, { client: "ada", borrower: "ada/0" });
  assert.deepEqual(exchanges.handler.down.map(({ words }) => words), ["s2 acknowledged to its end", "subscribe $share/g/m"]);
  assert.deepEqual(exchanges.agent.down.map(({ words }) => words), ["start"], "another incarnation's progress is not this one's");
  assert.deepEqual(exchanges.agent.up.map(({ words }) => words), ["read s2 from 0"]);
  assert.deepEqual(exchanges.borrower.down.map(({ words, lost }) => [words, lost]), [["ping", true]]);
  assert.deepEqual(exchanges.borrower.up.map(({ words }) => words), ["grant s2 at 0"]);
});

test("the badge names what prevents stability", () => {
  const stability = { stable: false, leaders: 1, unowned: 1, on_their_way: 0, unread: 2, held: 0, spread: 3 };
  assert.equal(badgeOf({ stability }).words, "not stable: 1 stream unassigned, 2 streams not read by the owner, shares differ by 3");
  assert.equal(badgeOf({ stability: { ...stability, unowned: 0, starved: 1, unread: 0, spread: 0 } }).words, "not stable: 1 stream starved: granted, but the owner acted on a late revoke");
  assert.deepEqual(badgeOf({ stability: { ...stability, stable: true } }), { stable: true, words: "stable" });
  assert.deepEqual(badgeOf({ stability: { ...stability, stable: true }, figures: { two_readers_now: 1 } }), { stable: false, words: "stable for its leader, but 1 stream has two readers" });
  assert.equal(badgeOf({ stability: { ...stability, leaders: 0 } }).words, "not stable: no leader");
});
