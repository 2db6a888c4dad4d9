/** How the page reads the head of a log and writes the mapping, before anything is uploaded. */

import { test } from "node:test";
import assert from "node:assert/strict";

import { FROM_NAME, columnsOfPattern, guessed, headOf, kindOf, mappingText, needsNoMapping, readyMapping } from "../../static/js/pages/audit_columns.js";

const names = (columns) => columns.map((column) => column.name);

test("a CSV file has the columns of its header, with the first different values", () => {
  const text = '\uFEFFwhen;op;"order;id";region\r\n17;recv;"a ""b"", c";west\n18;recv;d;west\n19;acked;;\n';
  const head = headOf(text, "log.csv");
  assert.equal(head.kind, "csv");
  assert.equal(head.delimiter, ";");
  assert.deepEqual(head.columns.map(({ name, values }) => [name, values]), [["when", ["17", "18", "19"]], ["op", ["recv", "acked"]], ["order;id", ['a "b", c', "d"]], ["region", ["west"]]]);
  assert.equal(headOf("a\tb\n1\t2\n", "log.tsv").delimiter, "\t");
});

test("JSON Lines have the columns of all rows of the head, also those inside others", () => {
  const head = headOf('{"event":{"at":17,"op":"recv"},"tags":["x"],"id":null}\nnoise\n{"event":{"at":18},"id":"m-1"}\n{"cut', "log.jsonl");
  assert.equal(head.kind, "jsonl");
  assert.deepEqual(head.columns.map(({ name, values }) => [name, values]), [["event.at", ["17", "18"]], ["event.op", ["recv"]], ["tags", ['["x"]']], ["id", ["m-1"]]]);
});

test("formats that need no columns, and files that cannot be read here, are distinguished from text", () => {
  assert.equal(headOf('{"resourceSpans":[]}\n', "spans.json").kind, "known");
  assert.equal(headOf('{"timestamp":1,"name":"record_data"}\n', "consumer.log").kind, "known");
  assert.equal(headOf("x", "log.jsonl.gz").kind, "unread");
  assert.equal(headOf("PAR1\u0000", "log").kind, "unread");
  assert.deepEqual(headOf("11:55 got order 7\n\n11:56 got order 8\n", "app.log").lines, ["11:55 got order 7", "11:56 got order 8"]);
});

test("a log with canonical names needs no mapping", () => {
  assert.equal(needsNoMapping(headOf('{"ts":1,"kind":"ack","message_id":"m"}\n', "a.jsonl")), true);
  assert.equal(needsNoMapping(headOf('{"ts":1,"kind":"ack"}\n', "a.jsonl")), false);
});

test("columns are guessed by their names, and each is used once", () => {
  const columns = headOf('{"event":{"time":1,"name":"x"},"headers":{"messageId":"m"},"consumer_group":"g","region":"w"}\n', "a.jsonl").columns;
  assert.deepEqual(guessed(columns), { ts: "event.time", kind: "event.name", message_id: "headers.messageId", subscription: "consumer_group", cluster: "region" });
  assert.deepEqual(guessed(headOf("a,b\n1,2\n", "a.csv").columns), { ts: "", kind: "", message_id: "", subscription: "", cluster: "" });
});

test("words of the kind are guessed, others are left to the visitor", () => {
  assert.deepEqual(["RECV", "Committed", "sent", "heartbeat"].map(kindOf), ["deliver", "ack", "publish", ""]);
});

test("the mapping has the assigned columns, quoted, and the words of the kind", () => {
  const head = headOf("when;op;id: x\n1;recv;2\n", "log.csv");
  const chosen = { ts: "when", kind: "op", message_id: "id: x", subscription: "", cluster: "=name" };
  assert.equal(
    mappingText(head, chosen, { recv: "deliver", ack: "ack", "#1": "ignore", later: "" }),
    ["format: 1", "columns:", '  ts: "when"', '  kind: "op"', '  message_id: "id: x"', `from_path: {cluster: ${JSON.stringify(FROM_NAME)}}`, "kinds:", '  "recv": deliver', '  "#1": ignore', 'delimiter: ";"', ""].join("\n"),
  );
  assert.equal(mappingText({ ...head, delimiter: "," }, { ts: "a", kind: "=deliver", message_id: "b" }, {}, { position: true }), 'format: 1\ncolumns:\n  ts: "a"\n  position: "b"\nconstants: {kind: deliver}\n');
});

test("the groups of a pattern are the columns of text", () => {
  const lines = ["11:55 got order 7", "11:56 got order 8", "noise"];
  const columns = columnsOfPattern(lines, String.raw`^(?P<at>\S+) got order (?P<order>\d+)(?P<rest> .*)?`);
  assert.deepEqual(columns.map(({ name, values }) => [name, values]), [["at", ["11:55", "11:56"]], ["order", ["7", "8"]], ["rest", []]]);
  assert.deepEqual(names(columns), ["at", "order", "rest"]);
  const text = mappingText({ kind: "text", columns, lines }, { ts: "at", kind: "=deliver", message_id: "order" }, {}, { pattern: String.raw`^(?P<at>\S+) "` });
  assert.equal(text.split("\n")[1], String.raw`pattern: "^(?P<at>\\S+) \""`);
});

test("a ready mapping is chosen by name, and several files are one cluster each", () => {
  assert.equal(readyMapping("logback", false), "format: 1\nmapping: logback\n");
  assert.equal(readyMapping("logback", true), `format: 1\nmapping: logback\nfrom_path: {cluster: ${JSON.stringify(FROM_NAME)}}\n`);
});
