/** Between a socket and the reducer: decoding, order of frames, waits, reconnecting. */

import assert from "node:assert/strict";
import test from "node:test";
import { decode, WireError } from "../../static/js/wire/decode.js";
import { placeOf } from "../../static/js/model/reduce.js";
import { FIRST_WAIT_MS, LONGEST_WAIT_MS, SEEN_EVERY, makeCredit, openConnection, waitBefore } from "../../static/js/wire/connection.js";
import { ownerToken } from "../../static/js/wire/token.js";
import { makeRequests, RequestError, untilDone } from "../../static/js/wire/http.js";
import { frame, welcome } from "./fixtures/lab.js";

const table = (count = 0, columns = {}, texts = [], names = []) => ({ count, names, texts, columns });

/** An empty frame in the server's format. */
const written = (number, more = {}) => ({ ...frame(number), flights: table(), flights_total: table(), rows: table(), kept: table(), forecast: { at_us: [], curves: [] }, ...more });
const columns = (more = {}) => ({ first: 4, length: 7, names: ["web"], kind: [0, 0, 1], producer: [[0, 3]], number: [5, 1, 995], size: [1, [0, 2]], snapshot: [-1, [0, 2]], ...more });

test("decode accepts a frame and keeps unknown fields", () => {
  const taken = decode(JSON.stringify(written(3, { later: 1 })));
  assert.equal(taken.number, 3);
  assert.equal(taken.later, 1);
});

test("decode unpacks cells, flights, rows and points", () => {
  const taken = decode(
    JSON.stringify(
      written(1, {
        cells: { "a/orders": columns() },
        flights: table(3, { from: [[0, 3]], to: [1, [0, 2]], number: [7, [1, 2]], sent_us: [100, [10, 2]], travel_us: [40, 0, 5] }, ["from", "to"], ["a", "b"]),
        flights_total: table(1, { from: [0], to: [1], count: [802] }, ["from", "to"], ["a", "b"]),
        rows: table(3, { seq: [4, 2, 1], type: [0, 1, 0], snapshot: [null, 9] }, ["type"], ["link.cut", "snapshot.requested"]),
        forecast: { at_us: [100, 50], curves: [["billing", "b", [3, null]]] },
      }),
    ),
  );
  const { kind, number, size, snapshot, first } = taken.cells["a/orders"];
  assert.deepEqual({ kind, number, size, snapshot, first }, { kind: [0, 0, 1], number: [5, 6, 1001], size: [1, 1, 1], snapshot: [-1, -1, -1], first: 4 });
  assert.deepEqual(taken.flights[2], { from: "a", to: "b", number: 9, sent_us: 120, travel_us: 45, due_us: 165 });
  assert.deepEqual(taken.flights_total, { "a -> b": 802 });
  assert.deepEqual(taken.rows, [{ seq: 4, type: "link.cut" }, { seq: 6, type: "snapshot.requested", snapshot: 9 }, { seq: 7, type: "snapshot.requested" }]);
  assert.deepEqual(taken.forecast, [[100, { billing: { b: 3 } }], [150, {}]]);
});

test("decode explains what is wrong", () => {
  const refusals = [
    ["{", /not JSON/],
    ["[]", /without a type/],
    [JSON.stringify({ type: "weather" }), /type “weather”.*Reload/],
    [JSON.stringify(written(1, { at_us: 1.5 })), /“at_us” is not a whole number of microseconds/],
    [JSON.stringify(welcome({ wire: 1 })), /wire version 1, this page version 2/],
    [JSON.stringify({ ...written(1), view: undefined }), /neither a view nor its changes/],
    [JSON.stringify(written(1, { cells: { "a/orders": columns({ number: [1] }) } })), /cells of a\/orders have 3 kinds but not as many of “number”/],
    [JSON.stringify(written(1, { cells: { "a/orders": columns({ size: [[0, 1e9]] }) } })), /“cells.size”, a column with \[0,1000000000\]/],
    [JSON.stringify(written(1, { cells: { "a/orders": columns({ kind: [0, 0.5, 1] }) } })), /“cells.kind”, a column with 0.5/],
    [JSON.stringify(written(1, { rows: table(1, { seq: [1, 1] }) })), /“rows” with 1 rows and 2 of “seq”/],
    [JSON.stringify(written(1, { flights: [] })), /“flights”, which is not a table/],
  ];
  for (const [text, words] of refusals) assert.throws(() => decode(text), (reason) => reason instanceof WireError && words.test(reason.message));
});

test("frames of one epoch are consecutive, and a snapshot frame may have any number", () => {
  const seen = { epoch: 4, number: 10 };
  const place = (epoch, number, snapshot = false) => placeOf(seen, { epoch, number, snapshot });
  assert.equal(place(4, 11), "take");
  assert.equal(place(4, 10), "old");
  assert.equal(place(4, 12), "gap");
  assert.equal(place(5, 1), "gap", "a new epoch begins with a snapshot");
  assert.equal(place(5, 1, true), "take");
  assert.equal(place(4, 17, true), "take");
  assert.equal(place(3, 99, true), "old", "a late answer of the epoch before");
});

test("waits double, are bounded and random", () => {
  assert.equal(waitBefore(0, () => 0.999999), FIRST_WAIT_MS);
  assert.equal(waitBefore(0, () => 0), FIRST_WAIT_MS / 2);
  for (let attempt = 0; attempt < 40; attempt++) assert.ok(waitBefore(attempt, () => 0.99) <= LONGEST_WAIT_MS);
});

function fakeLine() {
  const sockets = [];
  const received = { frames: [], states: [], errors: [], waits: [] };
  const connection = openConnection({
    makeSocket: () => {
      const socket = { sent: [], readyState: 1, send: (text) => socket.sent.push(JSON.parse(text)), close: () => socket.onclose() };
      sockets.push(socket);
      return socket;
    },
    hello: () => ({ token: "t", epoch: 2, number: sockets.length }),
    onFrame: (one) => received.frames.push(one),
    onState: (state) => received.states.push(state),
    onError: (reason) => received.errors.push(reason.message),
    later: (run, wait_ms) => received.waits.push([run, wait_ms]),
    random: () => 0.5,
  });
  return { sockets, received, connection };
}

test("a connection sends hello first, and again with the last frame received after a loss", () => {
  const { sockets, received, connection } = fakeLine();
  sockets[0].onopen();
  assert.deepEqual(sockets[0].sent, [{ type: "hello", token: "t", epoch: 2, number: 1 }]);
  sockets[0].onmessage({ data: JSON.stringify(welcome()) });
  sockets[0].onclose();
  assert.deepEqual(received.states, ["connecting", "open", "waiting"]);
  assert.equal(connection.send({ type: "pause" }), false, "nothing is queued while the line is down");
  received.waits[0][0]();
  sockets[1].onopen();
  assert.equal(sockets[1].sent[0].number, 2);
  sockets[0].onmessage({ data: JSON.stringify(welcome()) });
  assert.equal(received.frames.length, 1, "frames of the old socket are ignored");
});

test("a page reports every tenth frame, and each snapshot frame at once", () => {
  const credit = makeCredit();
  const answers = [];
  for (let number = 1; number <= 35; number++) {
    const answer = credit({ epoch: 3, number, snapshot: number === 1 || number === 14 });
    if (answer) answers.push(answer);
  }
  assert.equal(SEEN_EVERY, 10);
  assert.deepEqual(answers.map((answer) => answer.number), [1, 11, 14, 24, 34]);
  assert.deepEqual(answers[0], { type: "seen", epoch: 3, number: 1 });
});

test("a message that cannot be decoded is reported, and the connection continues", () => {
  const { sockets, received } = fakeLine();
  sockets[0].onopen();
  sockets[0].onmessage({ data: "nonsense" });
  sockets[0].onmessage({ data: JSON.stringify(welcome()) });
  assert.match(received.errors[0], /not JSON/);
  assert.equal(received.frames.length, 1);
});

test("a closed connection does not reconnect", () => {
  const { sockets, received, connection } = fakeLine();
  sockets[0].onopen();
  connection.close();
  assert.equal(received.waits.length, 0);
  assert.equal(received.states.at(-1), "closed");
});

test("the token is read from the fragment, stored per lab and removed from the address", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  const addresses = [];
  const history = { replaceState: (_state, _title, address) => addresses.push(address) };
  assert.equal(ownerToken("l1", { hash: "#token=abc", pathname: "/labs/l1/", search: "" }, storage, history), "abc");
  assert.deepEqual(addresses, ["/labs/l1/"]);
  assert.equal(ownerToken("l1", { hash: "", pathname: "/labs/l1/", search: "" }, storage, history), "abc");
  assert.equal(ownerToken("l2", { hash: "", pathname: "/labs/l2/", search: "" }, storage, history), null);
  ownerToken("l3", { hash: "#token=abc&tour=1", pathname: "/labs/l3/", search: "?panel=time" }, storage, history);
  assert.equal(addresses.at(-1), "/labs/l3/?panel=time#tour=1", "the rest of the fragment stays");
});

test("a refused request has the server's error and hint", async () => {
  const answer = (status, body) => async () => ({ ok: status < 400, status, statusText: "", headers: { get: () => "application/json" }, json: async () => body });
  const asked = makeRequests(answer(400, { error: "No such row.", hint: "Rows so far are 0 to 9." }), "c");
  await assert.rejects(asked.get("/x"), (reason) => reason instanceof RequestError && reason.message === "No such row." && reason.hint.includes("0 to 9"));
  const unreachable = makeRequests(async () => Promise.reject(new TypeError("network")), "c");
  await assert.rejects(unreachable.get("/x"), /cannot be reached/);
});

test("runs are asked for until they have ended, and their failure is an error with its remedy", async () => {
  const window = { setTimeout: (go) => go() };
  const asking = (...answers) => () => Promise.resolve(answers.shift());
  const [one, two] = [1, 2].map((done) => ({ state: "running", done, of: 3 }));
  const said = [];
  const done = { state: "done", columns: [] };
  assert.equal(await untilDone(asking(one, two, done), window, (words) => said.push(words)), done);
  assert.deepEqual(said, ["Running: 1 of 3 done.", "Running: 2 of 3 done."]);
  assert.equal(await untilDone(asking(), window, () => {}, done), done, "the first answer is not asked for again");
  const ended = untilDone(asking({ state: "refused", words: "No failover.", hint: "Fail over." }), window);
  await assert.rejects(ended, (error) => error instanceof RequestError && error.message === "No failover." && error.hint === "Fail over.");
});
