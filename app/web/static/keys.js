// Ctrl+K goes to a page, a prompt or an action of this page; "?" lists the keys.
"use strict";

const palette = document.getElementById("palette");
const keys = document.getElementById("keys");
const wanted = palette.querySelector("input");
const found = palette.querySelector("ul");
const PALETTE_PAUSE_MS = 150;
let paletteTimer = 0;
let prompts = [];
// While prompts are looked for, and whether Enter was pressed meanwhile.
let [looking, entered] = [false, false];

// What is on this page to go to, each address once.
function places() {
  const links = document.querySelectorAll("nav[aria-label=Main] a, .tabs a, .switcher a, main .actions a[href], .me a, [data-places] a");
  return [...new Map([...links].map((link) => [link.href, link])).values()];
}

const words = (element) => element.textContent.trim().replace(/\s+/g, " ");

// The search of all sessions for the words, the last of the results.
function search() {
  const text = wanted.value.trim();
  if (!text || !palette.dataset.sessions) return [];
  const link = document.createElement("a");
  link.href = `${palette.dataset.sessions}?q=${encodeURIComponent(text)}`;
  link.textContent = `Search sessions for “${text}”`;
  return [link];
}

// The buttons of this page's forms that lack no text. Names that several elements share are left out.
function actions() {
  const buttons = [...document.querySelectorAll("main .actions button")].filter(
    (button) => button.type === "submit" && !button.disabled && button.checkVisibility() && button.form?.matches(":valid"),
  );
  return buttons.filter((button) => !buttons.some((other) => other !== button && words(other) === words(button)));
}

function entry(place) {
  const made = document.createElement("li");
  const shown = document.createElement(place.href ? "a" : "button");
  if (place.href) shown.href = place.href;
  else shown.addEventListener("click", () => { palette.close(); place.click(); });
  shown.textContent = words(place);
  made.append(shown);
  return made;
}

function list() {
  const asked = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (place) => asked.every((word) => place.textContent.toLowerCase().includes(word));
  // Found prompts may come when somebody has gone down the list already.
  const chosen = found.contains(document.activeElement) && document.activeElement.textContent;
  found.replaceChildren(...[...actions(), ...places(), ...prompts].filter(fits).map(entry), ...search().map(entry));
  if (chosen) ([...found.querySelectorAll("a, button")].find((one) => one.textContent === chosen) || wanted).focus();
  palette.querySelector("[role=status]").textContent = found.children.length > search().length ? "" : "Nothing has this name.";
}

// The prompts with the text in their names, found like in the list of prompts.
async function findPrompts() {
  const text = wanted.value.trim();
  try {
    const page = text ? await fetched(`${palette.dataset.prompts}?search=${encodeURIComponent(text)}`) : html("");
    if (text !== wanted.value.trim()) return;
    prompts = [...page.querySelectorAll("tbody th a")].slice(0, 20);
  } catch { prompts = []; }
  looking = false;
  list();
  if (entered) found.querySelector("a, button")?.click();
}

function openPalette() {
  wanted.value = "";
  prompts = [];
  [looking, entered] = [false, false];
  list();
  palette.showModal();
}

wanted.addEventListener("input", () => {
  list();
  clearTimeout(paletteTimer);
  if (!palette.dataset.prompts) return;
  [looking, entered] = [true, false];
  paletteTimer = setTimeout(findPrompts, PALETTE_PAUSE_MS);
});

palette.addEventListener("keydown", (event) => {
  const links = [...found.querySelectorAll("a, button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && links.length) {
    event.preventDefault();
    const next = links.indexOf(document.activeElement) + step;
    (links[next] ?? (next < 0 ? wanted : links.at(-1))).focus();
  }
  if (event.key === "Enter" && event.target === wanted && links.length) {
    if (looking && links.length === search().length) entered = true;
    else links[0].click();
  }
});

// A click outside a dialog closes it.
for (const dialog of [palette, keys]) {
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    if (palette.open) palette.close();
    else if (!document.querySelector("dialog[open]")) openPalette();
  }
  if (event.key === "?" && !typing(event) && !event.target.closest("dialog")) keys.showModal();
});

for (const button of document.querySelectorAll("[data-palette]")) {
  button.hidden = false;
  button.addEventListener("click", openPalette);
}
