// The placeholders of the prompt editor: more rows and their summaries; and what the server refuses, at its field.
"use strict";

const SHOWN_VALUES = 4;
const texts = (row) => [...row.querySelectorAll("input:not([type=radio]), textarea")];
const isWritten = (row) => texts(row).some((one) => one.value.trim());
const keyOf = (group) => group.querySelector('[name$=".key"]').value.trim();
const groups = (editor) => [...editor.querySelectorAll("[data-placeholder]")];
const rowsOf = (group) => [...group.querySelectorAll(".values li")];

// A group's key and values, as the server writes them.
function summarize(group) {
  const code = document.createElement("code");
  code.textContent = `{{${keyOf(group)}}}`;
  const quiet = document.createElement("span");
  quiet.className = "quiet";
  const nameOf = (row) => row.querySelector('[name$=".name"]').value;
  const named = rowsOf(group).map(nameOf).filter(Boolean);
  const chosen = group.querySelector(".values li:has(:checked)");
  const otherwise = chosen && nameOf(chosen) ? ` · default ${nameOf(chosen)}` : " · no default";
  const listed = named.slice(0, SHOWN_VALUES).join(", ") + (named.length > SHOWN_VALUES ? ", …" : "");
  quiet.textContent = named.length ? listed + otherwise : "no value yet";
  group.querySelector("summary").replaceChildren(code, " ", quiet);
  for (const one of group.querySelectorAll(".remove")) one.ariaLabel = `Remove ${keyOf(group) || "it"}`;
}

// The last row is always empty: writing into it makes another one.
function grow(editor) {
  const copy = (row) => {
    const made = row.cloneNode(true);
    for (const one of texts(made)) { one.value = ""; wellAgain(one); }
    return made;
  };
  const renumber = (made, pattern, place) => {
    for (const one of made.querySelectorAll("[name]")) one.name = one.name.replace(pattern, place);
    for (const one of made.querySelectorAll("[id]")) one.id = one.id.replace(pattern, place);
    for (const one of made.querySelectorAll("[for]")) one.htmlFor = one.htmlFor.replace(pattern, place);
  };
  const moreValues = (row) => {
    const made = copy(row);
    const place = row.parentElement.children.length;
    const radio = made.querySelector("[type=radio]");
    radio.checked = false;
    radio.value = String(place);
    renumber(made, /values\.\d+/, `values.${place}`);
    for (const one of made.querySelectorAll("[aria-label]")) one.ariaLabel = one.ariaLabel.replace(/\d+/, String(place + 1));
    row.after(made);
  };
  const moreGroups = (group) => {
    const made = copy(group);
    const place = groups(editor).length;
    made.querySelectorAll(".values li:not(:first-child)").forEach((one) => one.remove());
    renumber(made, /\.\d+\./, `.${place}.`);
    for (const one of made.querySelectorAll(".remove")) one.value = `remove.${place}`;
    made.querySelector("[type=radio]").checked = true;
    made.querySelector("details").open = false;
    group.classList.remove("blank");
    for (const one of group.querySelectorAll(".remove")) one.hidden = false;
    group.after(made);
  };
  editor.addEventListener("input", (event) => {
    const row = event.target.closest(".values li:last-child");
    if (row && isWritten(row)) moreValues(row);
    const group = event.target.closest("[data-placeholder]");
    if (!group) return;
    if (group.classList.contains("blank") && keyOf(group)) moreGroups(group);
    if (!group.classList.contains("blank")) summarize(group);
  });
}

// The field of a fresh page's id. The server numbers the groups and values that it was sent, without those left empty.
function fieldHere(editor, id) {
  const [, at, part, row, text] = id.match(/^placeholder\.(\d+)\.(\w+)(?:\.(\d+)\.(\w+))?$/) || [];
  if (!part) return document.getElementById(id);
  const group = groups(editor).filter((one) => keyOf(one) || rowsOf(one).some(isWritten))[at];
  if (part !== "values") return group?.querySelector(`[name$=".${part}"]`);
  const rows = group ? rowsOf(group) : [];
  return (rows.filter(isWritten)[row] || rows[0])?.querySelector(`[name$=".${text}"]`);
}

function wellAgain(field) {
  if (!field.ariaInvalid) return;
  field.ariaInvalid = null;
  const described = (field.getAttribute("aria-describedby") || "").split(" ");
  const isRefusal = (id) => id.startsWith("refused-");
  field.setAttribute("aria-describedby", described.filter((id) => !isRefusal(id)).join(" "));
  for (const id of described.filter(isRefusal)) field.closest("li, .field")?.querySelector(`#${id}`)?.remove();
}

function show(field) {
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  field.focus();
}

// Puts each refusal at its field, too, and the focus into the first of these.
function markRefused(editor) {
  for (const field of editor.querySelectorAll("[aria-invalid]")) wellAgain(field);
  const marked = [];
  for (const link of document.querySelectorAll("[data-refused]")) {
    const field = fieldHere(editor, link.hash.slice(1));
    if (!field?.name) continue;
    const refusal = document.createElement("p");
    refusal.className = "hint bad refused";
    refusal.id = `refused-${marked.length}`;
    const message = link.parentElement.querySelector("span").textContent;
    refusal.textContent = field.closest("li") ? `${link.textContent.split(", ").at(-1)}: ${message}` : message;
    field.closest("li, .field")?.append(refusal);
    field.ariaInvalid = "true";
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") || ""} ${refusal.id}`.trim());
    field.addEventListener("input", () => wellAgain(field), { once: true });
    link.addEventListener("click", (event) => { event.preventDefault(); show(field); });
    marked.push(field);
  }
  if (marked.length) show(marked[0]);
}
