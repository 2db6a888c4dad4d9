/**
 * Lists the partitions of a topic as thin rows above the lanes: length, acknowledged part, and which one is shown.
 * The rows can be folded to one line. A click shows another partition in the lanes.
 */

import { counted, whole } from "../../../model/format.js";
import { topicView, topicsOf } from "../model/topics.js";
import { prepared } from "../../../render/canvas.js";
import { element, required, setText } from "../../../render/dom.js";

/** Finds the partitions of one topic by their names in Pulsar. */

const PARTITION = /^(.*)-partition-(\d+)$/;

/** @returns {string[]} names of all partitions of the topic that `topic` belongs to, in order; empty when it is not partitioned */
export function partitionsOf(state, topic) {
  const whole = PARTITION.exec(topic)?.[1];
  if (whole === undefined) return [];
  return topicsOf(state)
    .map((name) => PARTITION.exec(name))
    .filter((found) => found?.[1] === whole)
    .sort((a, b) => Number(a[2]) - Number(b[2]))
    .map((found) => found[0]);
}

const ROW_PX = 12;

/**
 * @param {Document} document
 * @param {HTMLElement} root
 * @param {{onTopic: (topic: string) => void, onFold: () => void}} on
 */
export function makePartitions(document, root, { onTopic, onFold }) {
  const box = required(root, "[data-part=partitions]");
  const fold = required(box, "[data-act=partitions]");
  const list = required(box, "[data-part=partition-rows]");
  const rows = new Map();
  let open = true;
  let drawn = "";
  const toggle = () => {
    open = !open;
    drawn = "";
    list.hidden = !open;
    fold.setAttribute("aria-expanded", String(open));
    onFold();
  };
  fold.addEventListener("click", toggle);

  function rowOf(name) {
    const canvas = element(document, "canvas", { "aria-hidden": "true" });
    const title = element(document, "span.partition-name");
    const note = element(document, "small");
    const button = element(document, "button.partition", { type: "button", onclick: () => onTopic(name) }, [title, canvas, note]);
    return { button, canvas, title, note };
  }

  return {
    acts: { partitions: toggle },
    /** @returns {boolean} whether the height of the rows changed */
    update(state, watched, theme, ratio) {
      const found = partitionsOf(state, watched.topic);
      const was_hidden = box.hidden === true;
      box.hidden = found.length < 2;
      if (box.hidden) return !was_hidden;
      const width = Math.max(40, list.clientWidth - 16 - 314 * theme.scale); // minus the columns beside it, as in the stylesheet
      const key = [state.epoch, state.number, watched.topic, watched.subscription, watched.subject, theme.ink.bg, width, ratio, open].join("|");
      if (key === drawn) return was_hidden;
      drawn = key;
      const longest = Math.max(1, ...found.map((name) => topicView(state, watched.subject, name)?.length ?? 0));
      const backlogs = found.map((name) => topicView(state, watched.subject, name)?.subscriptions?.[watched.subscription]?.backlog).filter((backlog) => backlog !== undefined);
      const waiting = backlogs.length ? `, ${counted(backlogs.reduce((sum, backlog) => sum + backlog, 0), "entry", "entries")} in the backlog` : "";
      setText(fold.firstChild, `${found.length} partitions${waiting} in ${watched.subject} `);
      if (open) list.replaceChildren(...found.map((name, at) => fill(name, at, longest, width, state, watched, theme, ratio)));
      return was_hidden;
    },
  };

  function fill(name, at, longest, width, state, watched, theme, ratio) {
    if (!rows.has(name)) rows.set(name, rowOf(name));
    const { button, canvas, title, note } = rows.get(name);
    const topic = topicView(state, watched.subject, name);
    const cursor = topic?.subscriptions?.[watched.subscription];
    const shown = name === watched.topic;
    setText(title, `partition ${at}${shown ? ", shown" : ""}`);
    setText(note, noteOf(topic, cursor));
    if (shown) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    paint(prepared(canvas, width, ROW_PX * theme.scale, ratio), { topic, cursor, longest, width, theme });
    return element(document, "li", {}, [button]);
  }
}

function noteOf(topic, cursor) {
  if (!topic) return "does not exist here";
  return `${counted(topic.length, "entry", "entries")}, ${cursor ? `backlog ${whole(cursor.backlog)}` : "no subscription here"}`;
}

/** Draws the acknowledged part as a rail and the rest as a paler body: no hues, because a partition mixes origins. */
function paint(context, { topic, cursor, longest, width, theme }) {
  const height = ROW_PX * theme.scale;
  const x = (index) => (index / longest) * width;
  context.fillStyle = theme.ink.line;
  context.fillRect(0, height / 2 - 3, x(topic?.length ?? 0), 6);
  if (!cursor) return;
  context.fillStyle = theme.ink.strong;
  for (const [first, last] of cursor.ranges) context.fillRect(x(first), height / 2 - 1, Math.max(0.6, x(last + 1) - x(first)), 2);
  context.fillStyle = theme.ink.ink;
  context.fillRect(0, height / 2 - 1.5, x(cursor.mark_delete_index + 1), 3);
  context.fillRect(x(cursor.mark_delete_index + 1) - 0.7, 1, 1.4, height - 2);
}
