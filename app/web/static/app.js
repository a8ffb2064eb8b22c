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

// Puts what somebody has ticked, written, chosen or opened in a part of the page into the part that replaces it.
function carry(old, made) {
  const field = (input) => `${input.name} ${["checkbox", "radio"].includes(input.type) ? input.value : ""}`;
  const fields = (part) => part.querySelectorAll("select, textarea, input:not([type=hidden], [type=file])");
  const changed = (input) => input.checked !== input.defaultChecked || (input.options
    ? [...input.options].some((option) => option.selected !== option.defaultSelected)
    : input.value !== input.defaultValue);
  const touched = new Map([...fields(old)].filter(changed).map((input) => [field(input), input]));
  for (const input of fields(made)) {
    const before = touched.get(field(input));
    if (before) Object.assign(input, { checked: before.checked, value: before.value });
  }
  // A part that folds has the words of its summary, in which numbers change.
  const folds = (part) => Map.groupBy(part.querySelectorAll("details"), (fold) =>
    fold.querySelector("summary").textContent.replace(/\d/g, ""));
  const before = folds(old);
  for (const [words, alike] of folds(made)) {
    alike.forEach((fold, at) => { fold.open = before.get(words)?.[at]?.open ?? fold.open; });
  }
}

// <… id="x" data-live="3000">: fetched again from this page every so many milliseconds, until it comes without data-live;
// with data-live-from, from that page.
function live(element) {
  const every = Number(element.dataset.live);
  const again = () => setTimeout(async () => {
    if (document.hidden) return again();
    try {
      const fresh = (await fetched(element.dataset.liveFrom ?? location.href)).getElementById(element.id);
      if (!fresh) return location.reload();
      const held = element.contains(document.activeElement);
      if (!held && fresh.innerHTML !== element.innerHTML) {
        carry(element, fresh);
        const reached = element.querySelector("progress")?.position;
        element.replaceChildren(...document.adoptNode(fresh).childNodes);
        for (const bar of element.querySelectorAll("progress")) bar.value = Math.max(bar.value, reached * bar.max || 0);
        enhance(element);
      }
      if (held || "live" in fresh.dataset) again();
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

// A message over the page; also what the page came with, as only what is put in later is read out.
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
  for (const all of root.querySelectorAll("[data-all]")) markAll(all);
  for (const button of root.querySelectorAll("[data-copy], [data-raw]")) button.hidden = false;
  for (const code of root.querySelectorAll("[data-base-url]")) {
    code.textContent = code.textContent.replaceAll("$BASE_URL", location.origin);
  }
  for (const element of root.querySelectorAll("[data-live]")) live(element);
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
for (const kind of ["pointerdown", "input"]) {
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

// One click is one request, also on a slow line.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.ariaBusy === "true") event.preventDefault();
  form.ariaBusy = "true";
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
