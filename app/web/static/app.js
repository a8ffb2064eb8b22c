// What moves on the pages. Every page works without it.
"use strict";

// The page of an answer. A message comes with one page only, so one that a script reads is shown here.
function html(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const message of page.querySelectorAll(".toasts[role=status] > .flash")) toast(document.adoptNode(message));
  return page;
}

async function fetched(url) {
  const answer = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  const page = html(await answer.text());
  // Each page has a different token. With this page's token, unchanged parts are equal.
  const token = document.querySelector('[name="csrf"]');
  for (const input of token ? page.querySelectorAll('[name="csrf"]') : []) input.setAttribute("value", token.value);
  return page;
}

// <a data-dialog href="…">: the [data-dialog-body] of that page, in a dialog over this one.
async function openDialog(link) {
  let body;
  try {
    body = (await fetched(link.href)).querySelector("[data-dialog-body]");
  } catch {
    body = null;
  }
  if (!body) return location.assign(link.href);
  const dialog = document.createElement("dialog");
  dialog.append(document.adoptNode(body));
  dialog.setAttribute("aria-labelledby", body.getAttribute("aria-labelledby") || "");
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  enhance(dialog);
  dialog.showModal();
}

// What of two answers of the server is the same element, by the elements' places in the older one: a row by its first link,
// other elements by id, by their own link or by their place among those of their kind. Returns a map from the newer nodes.
function sameNodes(was, now) {
  const own = (node) => node.id || node.getAttribute?.("href")
    || (["TR", "LI"].includes(node.nodeName) && node.querySelector("a[href]")?.getAttribute("href"));
  const words = (node) => node.querySelector(":scope > summary")?.textContent.replace(/\d/g, "") ?? node.getAttribute("class");
  const keys = [
    (node) => `${node.nodeName} ${own(node) || (node.localName ? words(node) : "")}`,
    (node) => own(node) ? null : node.nodeName,
  ];
  const [same, left] = [new Map(), new Set(was.childNodes.keys())];
  for (const key of keys) {
    const places = Map.groupBy(left, (place) => key(was.childNodes[place]));
    for (const node of now.childNodes) {
      const place = same.has(node) || key(node) === null ? undefined : places.get(key(node))?.shift();
      if (place === undefined) continue;
      same.set(node, place);
      left.delete(place);
    }
  }
  return same;
}

// Whether an element of a part is still there after `merge`.
function survives(inner, part, was, now) {
  const path = [];
  for (let node = inner; node !== part; node = node.parentNode) path.unshift([...node.parentNode.childNodes].indexOf(node));
  for (const at of path) {
    if (was.isEqualNode(now)) return true;
    [now] = [...sameNodes(was, now)].find(([, place]) => place === at) ?? [];
    was = was.childNodes[at];
    if (!was || !now) return false;
  }
  return true;
}

// Puts what changed between two answers of the server into a part of the page. All else stays as it is: elements with their
// focus and scroll, selected text, and what a person has ticked, written, chosen or opened.
function merge(part, was, now) {
  if (was.isEqualNode(now)) return;
  if (part.nodeType !== Node.ELEMENT_NODE) { part.data = now.data; return; }
  for (const name of new Set([...was.getAttributeNames(), ...now.getAttributeNames()])) {
    const value = now.getAttribute(name);
    if (name === "open" || value === was.getAttribute(name)) continue;
    if (value === null) part.removeAttribute(name); else part.setAttribute(name, value);
  }
  const shown = [...part.childNodes];
  if (shown.length !== was.childNodes.length) return part.replaceChildren(...document.importNode(now, true).childNodes);
  const same = sameNodes(was, now);
  const kept = new Set(same.values());
  shown.forEach((node, place) => { if (!kept.has(place)) node.remove(); });
  let next = part.firstChild;
  for (const node of now.childNodes) {
    const place = same.get(node);
    if (place === undefined) { part.insertBefore(document.importNode(node, true), next); continue; }
    if (shown[place] === next) next = next.nextSibling;
    else if (part.moveBefore) part.moveBefore(shown[place], next);
    else part.insertBefore(shown[place], next);
    merge(shown[place], was.childNodes[place], node);
  }
}

// Changes a page, and scrolls so that the control under the pointer, else the focused one, stays where it is.
function inPlace(change) {
  const control = document.querySelector(":is(a, button, summary, label, input, select, textarea):hover")
    ?? (document.activeElement === document.body ? null : document.activeElement);
  const focused = document.activeElement;
  const before = control?.getBoundingClientRect().top;
  document.documentElement.style.overflowAnchor = control ? "none" : "";
  change();
  if (focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
  if (control?.isConnected) scrollBy({ top: control.getBoundingClientRect().top - before, behavior: "instant" });
  document.documentElement.style.overflowAnchor = "";
}

// A click is lost if its element leaves between the press and the release.
let pressed = false;
for (const kind of ["pointerdown", "pointerup", "pointercancel"]) {
  addEventListener(kind, () => { pressed = kind === "pointerdown"; }, true);
}

// <… id="x" data-live="3000">: fetched again from this page every so many milliseconds, until it comes without data-live;
// with data-live-from, from that page.
const followed = new WeakSet();

function live(element) {
  if (followed.has(element)) return;
  followed.add(element);
  let was = element.cloneNode(true);
  const every = Number(element.dataset.live);
  const again = () => setTimeout(async () => {
    if (document.hidden) return again();
    try {
      const now = (await fetched(element.dataset.liveFrom ?? location.href)).getElementById(element.id);
      const focused = document.activeElement;
      if (pressed || (now && "cancelling" in element.dataset && "live" in now.dataset)) return again();
      if (!now) return location.reload();
      if (element.contains(focused) && !survives(focused, element, was, now)) return again();
      const reached = element.querySelector("progress")?.position;
      const goesOn = "live" in now.dataset;
      // The part keeps its own attributes.
      for (const node of [was, now]) for (const name of node.getAttributeNames()) node.removeAttribute(name);
      if (!was.isEqualNode(now)) inPlace(() => { merge(element, was, now); enhance(element); });
      for (const bar of element.querySelectorAll("progress")) bar.value = Math.max(bar.value, reached * bar.max || 0);
      was = now;
      if (goesOn) again();
    } catch { again(); }
  }, every);
  again();
}

// <button data-copy="id">: the text of that element, to the clipboard; with data-copy-from the recorded text of that page.
async function recorded(page) {
  if (!page) return null;
  const address = new URL(page, location);
  address.searchParams.set("raw", "true");
  const answer = await fetch(address, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  return answer.text();
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(await recorded(button.dataset.copyFrom) ?? source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = words; }, 1500);
}

// A message below the navigation; also what the page came with, as only what is put in later is read out.
const toasts = document.querySelector(".toasts[role=status]");

function toast(message) {
  const came = message.isConnected;
  message.querySelector("[data-dismiss]").hidden = false;
  // Two answers of one moment may have brought the same message; and what the page came with may have left before.
  requestAnimationFrame(() => { if (!came || message.isConnected) toasts.replaceChildren(message); });
}

// <button data-raw="id">: the text as it was written, or rendered again.
function toggleRaw(button) {
  const source = document.getElementById(button.dataset.raw);
  source.hidden = !source.hidden;
  document.querySelector(`[data-rendered="${button.dataset.raw}"]`).hidden = !source.hidden;
  button.textContent = source.hidden ? "Raw" : "Rendered";
}

// <input type="checkbox" data-all="name">: ticks all boxes of its table or turn with names that end so.
const boxesOf = (all) => [...all.closest("table, .turn").querySelectorAll(`[type="checkbox"][name$="${all.dataset.all}"]`)];

function markAll(all) {
  const boxes = boxesOf(all);
  const ticked = boxes.filter((box) => box.checked).length;
  all.closest("label").hidden = boxes.length < 2;
  all.checked = ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
}

function enhance(root) {
  for (const element of root.querySelectorAll("[data-live]")) live(element);
  for (const all of root.querySelectorAll("[data-all]")) markAll(all);
  for (const button of root.querySelectorAll("[data-copy], [data-raw]")) button.hidden = false;
  for (const code of root.querySelectorAll("[data-base-url]")) {
    if (!code.textContent.includes("$BASE_URL")) continue;
    code.textContent = code.textContent.replaceAll("$BASE_URL", location.origin);
  }
}

// Pages show times in the zone of the browser, which the server learns from this cookie.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `reprise_zone=${zone}; path=/; max-age=31536000; SameSite=Lax`;

// Ctrl, Alt and ⌘ give a click or a key a meaning in the browser; so does Shift, to a click.
const unmodified = (event) => !(event.ctrlKey || event.metaKey || event.altKey);
const typing = (event) => event.target.closest("input, textarea, select, [contenteditable]");

document.addEventListener("click", (event) => {
  const plain = unmodified(event) && !event.shiftKey;
  const link = event.target.closest("a[data-dialog]");
  if (link && plain) { event.preventDefault(); return openDialog(link); }
  const closer = event.target.closest("dialog [data-close]");
  if (closer && plain) { event.preventDefault(); return closer.closest("dialog").close(); }
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  const raw = event.target.closest("[data-raw]");
  if (raw) toggleRaw(raw);
  // What has a title lies above the link that covers its row.
  const row = event.target.closest("tr.linked");
  if (row && !event.target.closest("a, button, input, label, summary")) row.querySelector("th a").click();
  if (event.target.closest("[data-dismiss]")) event.target.closest(".flash").remove();
});

// A message that all is well leaves when one goes on; a problem, and one with a choice, stay until they are dismissed.
// What it leaves moves the page, so that it stays until a press of a button has become a click.
for (const kind of ["click", "input"]) {
  document.addEventListener(kind, (event) => {
    if (event.target.closest(".toasts")) return;
    toasts?.querySelectorAll(".flash.done:not(:has(a, form))").forEach((message) => message.remove());
  });
}

document.addEventListener("change", (event) => {
  if (event.target.matches("form[data-auto] select")) event.target.form.requestSubmit();
  if (event.target.matches("[data-all]")) for (const box of boxesOf(event.target)) box.checked = event.target.checked;
  for (const all of document.querySelectorAll("[data-all]")) markAll(all);
});

// The state of a run is a live region: it is read out at the press of "Stop", not when the server has answered.
// Returns what takes that back.
function showCancelling(result) {
  const [badge, waiting] = [result.querySelector(".badge"), result.querySelector(".waiting")];
  const before = badge.textContent;
  result.dataset.cancelling = "";
  badge.textContent = "Cancelling…";
  if (waiting) waiting.hidden = true;
  return () => {
    delete result.dataset.cancelling;
    badge.textContent = before;
    if (waiting) waiting.hidden = false;
  };
}

// One click is one request, also on a slow line.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.ariaBusy === "true") event.preventDefault();
  form.ariaBusy = "true";
  if ("cancels" in form.dataset) showCancelling(form.closest(".result"));
});
// Addresses that people share have only the filters that were chosen.
document.addEventListener("formdata", (event) => {
  if (event.target.method !== "get") return;
  for (const name of new Set(event.formData.keys())) {
    if (event.formData.getAll(name).every((value) => value === "")) event.formData.delete(name);
  }
});
addEventListener("pageshow", () => { for (const form of document.forms) form.ariaBusy = null; });

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || typing(event) || !unmodified(event)) return;
  const search = document.querySelector("[data-slash]");
  if (search) { event.preventDefault(); search.focus(); search.select(); }
});

// The list of projects closes as menus do: with Escape, and with a click elsewhere.
const switcher = document.querySelector(".switcher");
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !switcher?.open) return;
  if (switcher.contains(document.activeElement)) switcher.querySelector("summary").focus();
  switcher.open = false;
});
document.addEventListener("click", (event) => {
  if (switcher && !switcher.contains(event.target)) switcher.open = false;
});

// What was chosen before this script was there.
for (const form of document.querySelectorAll("form[data-auto]")) {
  if ([...form.querySelectorAll("option")].some((option) => option.selected && !option.defaultSelected)) form.requestSubmit();
}

// Rows and columns of links that scroll show their current one. After scrollIntoView, Tab would go on from that link
// in Chromium since 150, so past the link that skips to the content.
for (const current of document.querySelectorAll("nav [aria-current]")) {
  for (let around = current.parentElement; around !== document.body; around = around.parentElement) {
    const [link, view] = [current.getBoundingClientRect(), around.getBoundingClientRect()];
    const missing = (start, end) => Math.min(link[start] - view[start], 0) || Math.max(link[end] - view[end], 0);
    around.scrollBy(missing("left", "right"), missing("top", "bottom"));
  }
}
toasts?.querySelectorAll(".flash").forEach(toast);
enhance(document);
