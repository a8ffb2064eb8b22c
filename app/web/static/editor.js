// The prompt editor: the instruction as one types, highlighted placeholders, more rows, and what is not saved.
"use strict";

const editor = document.querySelector("[data-editor]");
const SLOT = /(\{\{[A-Za-z0-9_]{1,64}\}\})/;
const PAUSE_MS = 250;

// The text again, behind the transparent one of the textarea, with its placeholders marked.
function highlight(area) {
  const behind = document.createElement("div");
  behind.className = "behind code";
  behind.ariaHidden = "true";
  area.before(behind);
  const draw = () => {
    const keys = new Set([...editor.querySelectorAll('[name$=".key"]')].map((input) => `{{${input.value}}}`));
    behind.replaceChildren(...area.value.split(SLOT).map((piece, at) => {
      if (at % 2 === 0) return piece;
      const mark = document.createElement("mark");
      mark.className = keys.has(piece) ? "" : "undefined";
      mark.textContent = piece;
      return mark;
    }), "\n");
    behind.scrollTop = area.scrollTop;
  };
  area.addEventListener("scroll", () => { behind.scrollTop = area.scrollTop; });
  new ResizeObserver(draw).observe(area);
  editor.addEventListener("input", draw);
  draw();
}

function preview() {
  let timer = 0;
  let latest = 0;
  const take = async () => {
    const mine = ++latest;
    const sent = new FormData(editor);
    sent.delete("files");
    try {
      const answer = await fetch(editor.dataset.editor, { method: "POST", body: sent, headers: { Accept: "text/html" } });
      if (!answer.ok || mine !== latest) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["choices", "instruction"]) {
        const [old, made] = [document.getElementById(id), fresh.getElementById(id)];
        if (!made || old.innerHTML === made.innerHTML || (id === "choices" && old.contains(document.activeElement))) continue;
        const top = old.querySelector("pre")?.scrollTop || 0;
        old.replaceChildren(...document.adoptNode(made).childNodes);
        const pre = old.querySelector("pre");
        if (pre) pre.scrollTop = top;
      }
    } catch { /* The next key tries again. */ }
  };
  editor.addEventListener("input", (event) => {
    if (["question", "message", "files"].includes(event.target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(take, PAUSE_MS);
  });
}

// The last row is always empty: writing into it makes another one.
function grow() {
  const empty = (row) => [...row.querySelectorAll("input:not([type=radio]), textarea")].every((one) => !one.value);
  const copy = (row) => {
    const made = row.cloneNode(true);
    for (const one of made.querySelectorAll("input:not([type=radio]), textarea")) one.value = "";
    return made;
  };
  editor.addEventListener("input", (event) => {
    const row = event.target.closest(".values li:last-child");
    if (row && !empty(row)) {
      const made = copy(row);
      const place = row.parentElement.children.length;
      const radio = made.querySelector("[type=radio]");
      radio.checked = false;
      radio.value = String(place);
      for (const one of made.querySelectorAll("[aria-label]")) one.ariaLabel = one.ariaLabel.replace(/\d+/, String(place + 1));
      row.after(made);
    }
    const group = event.target.closest("[data-placeholder].blank");
    if (!group || !group.querySelector('[name$=".key"]').value) return;
    const made = copy(group);
    const place = editor.querySelectorAll("[data-placeholder]").length;
    made.querySelectorAll(".values li:not(:first-child)").forEach((one) => one.remove());
    for (const one of made.querySelectorAll("[name]")) one.name = one.name.replace(/\.\d+\./, `.${place}.`);
    for (const one of made.querySelectorAll("[id]")) one.id = one.id.replace(/\.\d+\./, `.${place}.`);
    for (const one of made.querySelectorAll("[for]")) one.htmlFor = one.htmlFor.replace(/\.\d+\./, `.${place}.`);
    made.querySelector("[type=radio]").checked = true;
    group.classList.remove("blank");
    group.after(made);
  });
}

// What is not saved is said, and asked about before it is left.
function unsaved() {
  const badge = editor.querySelector("[data-unsaved-badge]");
  const commit = editor.querySelector("[data-clean]");
  const drafted = () => JSON.stringify([...new FormData(editor)].filter(([name]) =>
    !["question", "message", "files"].includes(name) && !name.startsWith("use.")).filter(([, value]) => value !== ""));
  const before = drafted();
  let leaving = false;
  const show = () => {
    const changed = "unsaved" in editor.dataset || drafted() !== before;
    badge.hidden = !changed;
    if (commit) { commit.disabled = !changed; commit.title = changed ? "" : commit.dataset.clean; }
    return changed;
  };
  editor.addEventListener("input", show);
  editor.addEventListener("submit", () => { leaving = true; });
  addEventListener("pageshow", () => { leaving = false; show(); });
  const save = editor.querySelector('[name="do"][value="save"]');
  addEventListener("beforeunload", (event) => { if (save && !leaving && show()) event.preventDefault(); });
  addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (save) editor.requestSubmit(save);
  });
  show();
}

if (editor) {
  highlight(document.getElementById("value"));
  preview();
  grow();
  unsaved();
  document.documentElement.classList.add("scripted");
}
