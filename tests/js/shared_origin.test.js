import assert from "node:assert/strict";
import { test } from "node:test";

import { isThisComputer, sharedOrigin } from "../../static/js/model/addresses.js";

const at = (origin) => ({ origin, hostname: origin.split("/")[2].split(":")[0] });

test("names of this computer are those that lead each computer to itself", () => {
  for (const name of ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.4.5.6", "[::1]", "0.0.0.0"]) assert.equal(isThisComputer(name), true, name);
  for (const name of ["192.168.1.20", "lab.example.org", "localhost.example.org", "mylocalhost", "128.0.0.1", "[fd00::1]"]) assert.equal(isThisComputer(name), false, name);
});

test("links begin with the address that others reach", () => {
  const lan = "http://192.168.1.20:8000";
  assert.deepEqual(sharedOrigin(at("http://127.0.0.1:8000"), ""), { origin: "http://127.0.0.1:8000", local_only: true });
  assert.deepEqual(sharedOrigin(at("http://localhost:8000"), lan), { origin: lan, local_only: false });
  assert.deepEqual(sharedOrigin(at("http://localhost:8000"), "http://127.0.0.1:9000"), { origin: "http://127.0.0.1:9000", local_only: true });
  assert.deepEqual(sharedOrigin(at("https://lab.example.org"), lan), { origin: "https://lab.example.org", local_only: false }, "an address that works is kept");
});
