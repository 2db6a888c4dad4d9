/**
 * The page of a report being made: asks for its state until it is over, then loads the finished page.
 * Rules: text enters by textContent; only the owner's browser has the token that cancels and tries again.
 */
import { ownerToken } from "../js/wire/token.js";

const ASK_EVERY_MS = 250;

/** @param {Storage | null} storage */
export function watchReport(root, window, storage) {
  const document = root.ownerDocument;
  const has_owner = Boolean(root.dataset.lab); // a recount of an answer has none
  const token = has_owner && ownerToken(root.dataset.lab, window.location, storage, window.history);
  const part = (id) => document.getElementById(id);
  const button = (act) => root.querySelector(`[data-act=${act}]`);
  if (root.dataset.state === "done") return;

  button("cancel").addEventListener("click", () => post(root.dataset.cancel));
  button("again").addEventListener("click", () => post(root.dataset.again));
  ask();

  async function ask() {
    try {
      const answer = await window.fetch(root.dataset.status, { cache: "no-store" });
      if (answer.ok) show(await answer.json());
    } catch {
      part("hint").textContent = "The site does not answer; asking again.";
    }
    if (root.dataset.state !== "done") window.setTimeout(ask, ASK_EVERY_MS);
  }

  async function post(address) {
    const answer = await window.fetch(address, { method: "POST", headers: { "Content-Type": "application/json", "X-Lab-Token": token ?? "" }, body: JSON.stringify({ token }) });
    const report = await answer.json();
    if (answer.ok) show(report);
    else part("hint").textContent = `${report.error} ${report.hint}`;
  }

  /** Fills the table of the simulator's own figures. They do not change once they are there. */
  function showFigures(lines) {
    const place = part("simulator-figures");
    place.hidden = lines.length === 0;
    const rows = place.querySelector("tbody");
    if (rows.childElementCount === lines.length) return;
    rows.replaceChildren(
      ...lines.map((line) => {
        const row = document.createElement("tr");
        const subject = document.createElement("th");
        subject.scope = "row";
        subject.textContent = line.subject;
        const cells = [line.duplicates, line.redeliveries, line.stranded, line.lost].map((count) => {
          const cell = document.createElement("td");
          cell.textContent = count ?? "–";
          return cell;
        });
        row.append(subject, ...cells);
        return row;
      }),
    );
  }

  function show(status) {
    root.dataset.state = status.state;
    if (status.state === "done") {
      window.location.reload();
      return;
    }
    if (part("words").textContent !== status.words) part("words").textContent = status.words;
    part("lasting").textContent = status.lasting;
    const hint = [status.hint, status.note].filter(Boolean).join(" ");
    part("hint").textContent = hint;
    const steps = part("steps");
    steps.max = status.step_count || 1;
    steps.value = Math.max(0, status.step_number - 1);
    steps.hidden = status.over;
    showFigures(status.simulator_figures ?? []);
    button("cancel").hidden = !has_owner || status.over || status.cancel_wanted;
    button("again").hidden = !has_owner || !status.over;
  }
}

function storageOf(window) {
  try {
    return window.localStorage;
  } catch {
    return null; // a private window may refuse
  }
}

if (typeof document !== "undefined" && document.getElementById("report")) {
  watchReport(document.getElementById("report"), window, storageOf(window));
}
