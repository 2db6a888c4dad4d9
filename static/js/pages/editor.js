/**
 * The scenario editor: connects the text field, the checks, the list of problems, drafts, files, and the acts Run, Save and Share.
 * Without the component's scripts a plain text field has its place; completion is missing then, everything else remains.
 */

import { makeAceEditor, makePlainEditor, nextProblem, withProposal, writeProblems } from "../editor/ace_editor.js";
import { makeCheck, makeOutcome } from "../editor/checking.js";
import { documentationAt } from "../editor/completion.js";
import { draftOf, draftsIn, dropDraft, firstBeginning, fromServer, keepDraft, listenToFiles, makeSharing, ofFile } from "../editor/drafts.js";
import { counted, seconds } from "../model/format.js";
import { allOf, element, found, required, setText } from "../render/dom.js";
import { RequestError, makeRequests } from "../wire/http.js";
import { keepToken } from "../wire/token.js";

/** As in the stylesheet: on a narrower page the problems are below the text. */
const NARROW_PX = 900;

/** Pause after the last movement of the cursor before its documentation is written, ms. */
const CURSOR_MS = 100;

/** Pause after a change before the text is kept in the browser, ms. It is also kept when the page is left. */
const KEEP_MS = 300;
const KEYS = "Ctrl Space: completion · Ctrl Enter: run · F8: next problem · Ctrl F: find · Esc, then Tab: leave the text · a dropped file is opened";

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch, ace: any}} given */
export async function openEditor({ document, root, window, fetcher, ace }) {
  const requests = makeRequests(fetcher, "");
  const part = (name) => required(root, `[data-part=${name}]`);
  const area = required(root, "textarea[data-part=text]");
  const sent = { start: root.dataset.start, title: root.dataset.title, text: area.value };
  const held = { began: null, checked: null, schema: null };
  const getSchema = () => held.schema;
  const say = (reason) => {
    part("failure").hidden = !reason;
    setText(part("failure"), reason ? wordsOfReason(reason) : "");
  };
  const editor = makeField({ document, window, root, ace, area, getSchema });
  const page = { document, window, root, part, requests, held, editor, say, storage: storageOf(window), limit: Number(root.dataset.limit) };
  const drafts = makeDrafts(page);
  const problems = makeProblems(page);
  const starts = makeStarts({ ...page, drafts, check: problems.check });
  const sharing = makeSharing({ document, root, window, part, getText: editor.value, getChecked: () => held.checked });
  const run = () => openLab({ ...page, drafts, check: problems.check });

  editor.onChange(() => {
    drafts.keepSoon();
    problems.check();
    part("link-line").hidden = true;
    say(null);
  });
  followCursor({ document, window, part, editor, getSchema });
  offerActs(root, { run, save: sharing.save, share: sharing.share, discard: () => editor.setValue(held.began.text) });
  listenToKeys(root, { run, step: problems.step });
  listenToFiles(part("drop"), required(root, "input[data-part=file]"), starts.openFile);
  requests.get(root.dataset.schema).then((schema) => (held.schema = schema), say);
  await starts.first(sent, Boolean(root.dataset.asked));
  return { value: editor.value, checked: () => held.checked, schema: getSchema };
}

const wordsOfReason = (reason) => [reason.message, reason.hint].filter(Boolean).join(" ");

/** Checks the text and shows its problems. */
function makeProblems({ document, window, root, part, requests, held, editor, limit }) {
  const goTo = (problem) => editor.goTo(problem.line, problem.column);
  function take(problem, proposal) {
    editor.setValue(withProposal(editor.value(), problem, proposal));
    goTo(problem);
  }
  const outcome = makeOutcome({ document, window, requests, address: root.dataset.outcome, part, getText: editor.value });
  const onTrouble = (reason) => setText(part("facts"), `Not checked: ${wordsOfReason(reason)}`);
  const check = makeCheck({ window, requests, address: root.dataset.check, limit, getText: editor.value, onChecked, onTrouble });

  function onChecked(checked) {
    held.checked = checked;
    editor.show(checked.problems);
    writeProblems(document, { heading: part("problems-title"), list: part("problems"), status: part("announced") }, checked.problems, checked.count, { goTo, take });
    setText(part("facts"), checked.scenario ? factsOf(checked.scenario) : "");
    outcome.checked(checked.scenario !== null, checked.text);
  }

  function step(by) {
    const { line, column } = editor.cursor();
    const problem = nextProblem(held.checked?.problems ?? [], line, column, by);
    if (problem) goTo(problem);
  }

  function changed() {
    outcome.changed();
    check();
  }

  return { check: changed, step };
}

/** Shows the text of a start, or its draft if there is one. */
function makeStarts({ window, root, requests, held, editor, say, storage, limit, drafts, check }) {
  const fetchStart = (start) => requests.get(`${root.dataset.text}?start=${encodeURIComponent(start)}`);
  const select = required(root, "select[data-part=start]");
  select.addEventListener("change", () => choose(select.value).catch(say));

  function begin(began) {
    drafts.keep();
    held.began = began;
    const draft = draftOf(storage, began.start);
    editor.begin(draft ? draft.text : began.text);
    say(began.note ? new Error(began.note) : null);
    const address = fromServer(began.start) ? `?start=${began.start}` : "";
    if (!began.start.startsWith("link:")) window.history.replaceState(null, "", window.location.pathname + address);
    drafts.show();
    check();
  }

  async function choose(start) {
    const draft = draftOf(storage, start);
    begin(fromServer(start) || !draft ? await fetchStart(start) : draft);
  }

  async function first(sent, asked) {
    try {
      begin(await firstBeginning({ location: window.location, storage, sent, asked, fetchStart }));
    } catch (reason) {
      begin(sent);
      say(reason);
    }
  }

  function openFile(file) {
    ofFile(file, limit, storage).then((began) => {
      begin(began);
      drafts.keep();
    }, say);
  }

  return { first, openFile };
}

/** Makes a lab of the text. The text stays in the browser whatever the server answers. */
async function openLab({ window, root, requests, editor, say, drafts, check }) {
  const button = required(root, "button[data-act=run]");
  say(null);
  drafts.keep();
  button.disabled = true;
  try {
    const made = await requests.post(root.dataset.create, { yaml: editor.value() });
    keepToken(made.id, made.token, window);
    window.location.assign(`${made.url}#token=${made.token}`);
  } catch (reason) {
    // the problems of a text are listed beside it
    say(new RequestError(reason.message.split("\n")[0], reason.hint));
    check();
  } finally {
    button.disabled = false;
  }
}

const factsOf = ({ title, until_us, commands, seed }) => `“${title}”, ${seconds(until_us)} s, ${counted(commands, "planned command")}, seed ${seed}.`;

function storageOf(window) {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/** The component, or the plain field when its scripts are missing. */
function makeField({ document, window, root, ace, area, getSchema }) {
  const home = required(root, "[data-part=component]");
  const keys = required(root, "[data-part=keys]");
  if (!ace) {
    setText(keys, "The editor component could not be loaded. This is a plain text field without completion; checks, Run and Save work. Drop a file here to open it.");
    return makePlainEditor(area, window);
  }
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  home.hidden = false;
  area.hidden = true;
  setText(keys, KEYS);
  return makeAceEditor({ ace, document, home, text: area.value, getSchema, dark, narrow: window.innerWidth < NARROW_PX });
}

/** Keeps the text in the browser, and lists the drafts among the starts. */
function makeDrafts({ document, window, root, part, storage, held, editor }) {
  const select = required(root, "select[data-part=start]");
  let timer = 0;
  window.addEventListener("pagehide", keep);

  function keepSoon() {
    window.clearTimeout(timer);
    timer = window.setTimeout(keep, KEEP_MS);
  }

  /** A text that differs from its original is kept, and one that the server does not have. */
  function keep() {
    window.clearTimeout(timer);
    if (!held.began) return;
    const { start, title, text } = held.began;
    const now = editor.value();
    const changed = now !== text;
    const stored = changed || !fromServer(start) ? keepDraft(storage, { start, title, text: now }) : dropDraft(storage, start);
    if (!stored && changed) setText(required(root, "[data-part=draft] span"), "This browser does not store your text: save it as YAML before you leave the page.");
    part("draft").hidden = !changed;
  }

  /** Selects the start that is shown; one that the server does not list gets an option. */
  function show() {
    for (const old of allOf(select, "optgroup[data-own]")) old.remove();
    const listed = new Set(allOf(select, "option").map((option) => option.value));
    const own = [held.began, ...draftsIn(storage)].filter(({ start }, at, all) => !listed.has(start) && all.findIndex((one) => one.start === start) === at);
    if (own.length) select.prepend(element(document, "optgroup", { label: "My texts in this browser", "data-own": true }, own.map(({ start, title }) => element(document, "option", { value: start, text: title }))));
    select.value = held.began.start;
    part("draft").hidden = editor.value() === held.began.text;
  }

  return { keep, keepSoon, show };
}

function followCursor({ document, window, part, editor, getSchema }) {
  let timer = 0;
  editor.onCursor(() => {
    window.clearTimeout(timer);
    timer = window.setTimeout(write, CURSOR_MS);
  });

  function write() {
    const { row, offset } = editor.cursor();
    const said = getSchema() && documentationAt(getSchema(), editor.value(), row, offset);
    part("cursor-home").hidden = !said;
    if (said) part("cursor-words").replaceChildren(element(document, "p", {}, [element(document, "code", { text: said.path })]), ...said.words.map((text) => element(document, "p", { text })));
  }
}

/** Shows the buttons that need this script. */
function offerActs(root, acts) {
  for (const [act, run] of Object.entries(acts)) {
    const button = required(root, `button[data-act=${act}]`);
    button.hidden = false;
    button.type = "button";
    button.addEventListener("click", () => run());
  }
}

function listenToKeys(root, { run, step }) {
  root.addEventListener(
    "keydown",
    (event) => {
      const command = event.ctrlKey || event.metaKey;
      if (event.key === "F8") step(event.shiftKey ? -1 : 1);
      else if (command && event.key === "Enter") run();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
}

const root = found(document, "[data-editor]");
if (root) {
  openEditor({ document, root, window, fetcher: (address, options) => fetch(address, options), ace: globalThis.ace }).then((opened) => {
    globalThis.failoverEditor = opened;
  });
}
