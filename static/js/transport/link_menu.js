/** The items of a link's menu, from the present state. Data only. */

/** @typedef {import("./menu.js").Item} Item */

/** @returns {{title: string, items: Item[]}[]} */
export function linkMenu(state, [a, b]) {
  const there = state.view.links[`${a} -> ${b}`];
  const back = state.view.links[`${b} -> ${a}`];
  const cut = there?.state === "cut" || back?.state === "cut";
  const slowed = there?.slowed || back?.slowed;
  const items = [];
  if (cut || slowed) items.push({ says: "Heal", key: "H", command: { do: "link.heal", link: `${a} <-> ${b}` } });
  if (!cut) items.push({ says: "Cut both ways", key: "X", harm: true, command: { do: "link.cut", link: `${a} <-> ${b}` } });
  for (const [from, to, link] of [
    [a, b, there],
    [b, a, back],
  ]) {
    if (link && link.state !== "cut") items.push({ says: `Cut only ${from} → ${to}`, harm: true, command: { do: "link.cut", link: `${from} -> ${to}` } });
  }
  items.push({ says: "Slow down…", key: "S", form: { name: "link.slow", preset: { link: `${a} <-> ${b}` } } });
  return [{ title: `${a} and ${b}`, items }];
}
