/** A menu beside the element that it belongs to, for arrows, letters and escape; it restores the focus for keyboard users. Also the items of a link's menu. */

import { element } from "../render/dom.js";

/**
 * @typedef {{says: string, key?: string, harm?: boolean, command?: object, before_us?: number, form?: {name: string, preset: object}, act?: string, look?: object, words?: string}} Item
 *   before_us: the command is sent for just before that instant, and the lab returns to the present one; look: what the protocol shows in the inspector; words: what will happen, where the command's declaration does not contain it
 */

/**
 * @param {Document} document
 * @param {HTMLElement} home element that contains the open menu
 * @param {(item: Item) => void} onItem
 * @param {(item: Item) => string} wordsOf what will happen, shown while the item has the focus or the pointer
 */
export function makeMenu(document, home, onItem, wordsOf) {
  let open = null;
  let focused_before = null;

  function close(refocus = true) {
    open?.remove();
    open = null;
    if (refocus) focused_before?.focus?.();
    focused_before = null;
  }

  /** After the keyboard the focus is restored. After a pointer it is not, so that space starts playback again. */
  function choose(item, by_pointer) {
    close(!by_pointer);
    onItem(item);
  }

  function show(groups, anchor) {
    close(false);
    focused_before = document.activeElement?.matches(":focus-visible") ? document.activeElement : null; // after opening by pointer, the space key should play
    const buttons = [];
    const says = element(document, "p.menu-says", { id: "menu-says" });
    const describe = (item) => {
      says.textContent = wordsOf(item);
      if (open) place(open, anchor, home); // longer words need more room
    };
    const children = groups
      .filter((group) => group.items.length)
      .flatMap((group) => [
        element(document, "p.menu-title", { text: group.title, role: "presentation" }),
        ...group.items.map((item) => {
          const button = itemButton(document, item, describe, choose);
          buttons.push([button, item]);
          return button;
        }),
      ]);
    open = element(document, "div.menu", { role: "menu", onkeydown: (event) => onKey(event, buttons) }, [element(document, "div.menu-items", { role: "presentation" }, children), says]);
    home.append(open);
    place(open, anchor, home);
    buttons[0]?.[0].focus();
  }

  function onKey(event, buttons) {
    const at = buttons.findIndex(([button]) => button === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    const letter = buttons.find(([, item]) => item.key && item.key.toLowerCase() === event.key.toLowerCase());
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (to !== undefined) buttons[(to + buttons.length) % buttons.length][0].focus();
    else if (letter) choose(letter[1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  document.addEventListener("pointerdown", (event) => {
    if (open && !open.contains(event.target)) close(false);
  });
  return { show, close, isOpen: () => open !== null };
}

function itemButton(document, item, describe, choose) {
  const listeners = { onfocus: () => describe(item), onpointerenter: () => describe(item), onclick: (event) => choose(item, event.detail > 0) };
  return element(document, `button.menu-item${item.harm ? ".harm" : ""}`, { type: "button", role: "menuitem", tabindex: -1, "aria-describedby": "menu-says", ...listeners }, [
    element(document, "span", { text: item.says }),
    ...(item.key ? [element(document, "kbd", { text: item.key, "aria-hidden": "true" })] : []),
  ]);
}

/** Below the anchor where it fits, else beside it; always within the page. */
function place(menu, anchor, home) {
  const frame = home.getBoundingClientRect();
  const box = anchor.getBoundingClientRect();
  const view = home.ownerDocument.documentElement;
  const under = box.bottom + 4;
  const fits = under + menu.offsetHeight <= view.clientHeight - 8;
  const beside = box.right + 8 + menu.offsetWidth <= view.clientWidth ? box.right + 8 : box.left - menu.offsetWidth - 8;
  const left = Math.max(8, Math.min(fits ? box.left : beside, view.clientWidth - menu.offsetWidth - 8));
  const top = fits ? under : Math.max(8, view.clientHeight - menu.offsetHeight - 8);
  menu.style.left = `${left - frame.left}px`;
  menu.style.top = `${top - frame.top}px`;
}

/** The items of a link's menu, from the present state. Data only. */

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
