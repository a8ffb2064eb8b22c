// The prompt editor: the instruction as one types, what is not saved, and sending the form without leaving the place.
// Every part of it works as a form, too.
"use strict";

const editor = document.querySelector("[data-editor]");
const PAUSE_MS = 250;
const AGAIN_MS = 1000;
// Fields that are no part of the draft.
const BESIDE = ["question", "message", "files", "against", "etag", "run", "beside", "session", "turn"];

const drafted = (form = editor) => JSON.stringify([...new FormData(form)].filter(([name, value]) =>
  !isBeside(name) && !name.startsWith("use.") && value !== ""));
// An event of the form itself has an element for its name.
const isBeside = (name) => BESIDE.includes(name) || String(name).startsWith("result.");

// Puts the element with this id of a fresh page in the place of the one here; what is in use or equal stays.
function adopt(fresh, id) {
  const [old, made] = [document.getElementById(id), fresh.getElementById(id)];
  if (!old || !made || old.outerHTML === made.outerHTML || (id === "choices" && old.contains(document.activeElement))) return;
  const top = old.scrollTop;
  old.replaceWith(document.adoptNode(made));
  made.scrollTop = top;
  enhance(made);
}

function preview() {
  let timer = 0;
  let latest = 0;
  const render = async () => {
    const mine = ++latest;
    const sent = new FormData(editor);
    sent.delete("files");
    try {
      const answer = await fetch(editor.dataset.editor, { method: "POST", body: sent, headers: { Accept: "text/html" } });
      if (!answer.ok || mine !== latest) return;
      const fresh = html(await answer.text());
      for (const id of ["choices", "instruction"]) adopt(fresh, id);
    } catch { /* The next key tries again. */ }
  };
  editor.addEventListener("input", (event) => {
    if (isBeside(event.target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(render, PAUSE_MS);
  });
}

// Unsaved changes are shown, and leaving the page asks for confirmation.
const saved = { draft: "", leaving: false };

function isChanged() {
  const changed = "unsaved" in editor.dataset || drafted() !== saved.draft;
  editor.querySelector("[data-unsaved-badge]").hidden = !changed;
  const commit = editor.querySelector('[name="do"][value="commit"]');
  const clean = document.getElementById("states").dataset.clean;
  if (commit) {
    commit.disabled = Boolean(clean) && !changed;
    commit.title = commit.disabled ? clean : "";
  }
  return changed;
}

function unsaved(asItCame) {
  const canSave = editor.querySelector('[name="do"][value="save"]');
  saved.draft = drafted(asItCame);
  editor.addEventListener("input", isChanged);
  addEventListener("pageshow", () => { saved.leaving = false; isChanged(); });
  addEventListener("beforeunload", (event) => { if (canSave && !saved.leaving && isChanged()) event.preventDefault(); });
  isChanged();
}

// An answer as the model writes it; at its end the page's own part with all that is known of it.
function follow(result) {
  const source = new EventSource(result.dataset.events);
  const text = document.createElement("p");
  text.className = "text";
  result.append(text);
  const scroller = document.getElementById("conversation");
  const grown = (piece) => {
    const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
    text.append(piece);
    if (atEnd) scroller.scrollTop = scroller.scrollHeight;
  };
  source.addEventListener("token", (event) => {
    const badge = result.querySelector(".badge");
    if (!("cancelling" in result.dataset) && badge.textContent !== "running") badge.textContent = "running";
    grown(JSON.parse(event.data).text);
  });
  source.addEventListener("tool_call", (event) => grown(`\nCalls the tool ${JSON.parse(event.data).name}\n`));
  const end = async (wait) => {
    source.close();
    if (wait) await new Promise((done) => { setTimeout(done, wait); });
    if (!result.isConnected) return;
    try {
      const [fresh, stop] = [await fetched(location.href), document.getElementById("stop-model")];
      const held = stop && stop === document.activeElement;
      for (const id of [result.id, "stop-model"]) adopt(fresh, id);
      if (held && !stop.isConnected) editor.elements.question.focus();
    } catch { /* Its link shows it. */ }
    followAll();
  };
  source.addEventListener("done", () => end(0));
  source.addEventListener("error", (event) => {
    if (event.data || source.readyState === EventSource.CLOSED) end(event.lastEventId === "end" ? 0 : AGAIN_MS);
  });
}

function followAll() {
  for (const result of editor.querySelectorAll("[data-events]:not([data-followed])")) {
    result.dataset.followed = "";
    follow(result);
  }
}

// Shows the server's answer to what was sent: its refusals, the state of the draft, the conversations.
function showAnswer(fresh, messages) {
  document.getElementById("notices").replaceChildren(...messages.map((message) => document.adoptNode(message)));
  markRefused(editor);
  if (!fresh) return;
  document.title = fresh.title;
  document.querySelector("h1").textContent = fresh.querySelector("h1").textContent;
  if (editor.elements.question) editor.elements.question.placeholder = fresh.getElementById("question").placeholder;
  const { against } = editor.elements;
  const chosen = against?.value;
  adopt(fresh, "against");
  if (against) editor.elements.against.value = chosen;
  for (const id of ["author", "states", "choices", "instruction", "fresh", "stop-model", "conversation"]) adopt(fresh, id);
  const scroller = document.getElementById("conversation");
  scroller.scrollTop = scroller.scrollHeight;
  followAll();
}

function failed(words, signIn) {
  const message = document.createElement("p");
  message.className = "flash problem";
  message.setAttribute("role", "alert");
  message.textContent = words;
  if (signIn) {
    const link = document.createElement("a");
    Object.assign(link, { href: "/sign-in", target: "_blank", textContent: "Sign in in another tab" });
    message.append(" ", link, ", then try again.");
  }
  showAnswer(null, [message]);
}

const isSignIn = (answer) => new URL(answer.url).pathname === "/sign-in";

// After another sign-in, the token of this page's form is not valid any more.
async function renewToken() {
  const page = html(await (await fetch(location.href, { headers: { Accept: "text/html" } })).text());
  const token = page.querySelector('#editor [name="csrf"]');
  if (token) editor.elements.csrf.value = token.value;
}

// Stops the models that write. Their end comes as an event; until then their state is "Cancelling…".
async function stopModels(button) {
  const writing = [...editor.querySelectorAll("[data-events]:not([data-cancelling])")];
  if (!writing.length) return;
  const reversals = writing.map(showCancelling);
  try {
    if ("expired" in editor.dataset) await renewToken();
    const answer = await fetch(editor.action, { method: "POST", body: new FormData(editor, button), headers: { Accept: "text/html" } });
    const fresh = html(await answer.text());
    if (isSignIn(answer)) {
      editor.dataset.expired = "";
      throw new Error("your sign-in has expired");
    }
    if (!fresh.getElementById("editor")) throw new Error(fresh.querySelector("h1")?.textContent || answer.statusText);
    editor.elements.question.focus();
  } catch (error) {
    reversals.forEach((reverse) => reverse());
    failed(`The model was not stopped: ${error.message}.`, "expired" in editor.dataset);
  }
}

// Returns whether the server accepted what was sent.
async function send(button) {
  if (button?.value === "stop") { stopModels(button); return false; }
  if (editor.ariaBusy === "true" || !button) return false;
  editor.ariaBusy = "true";
  if ("expired" in editor.dataset) await renewToken();
  const [action, before, sent] = [button.value, drafted(), new FormData(editor, button)];
  try {
    const answer = await fetch(editor.action, { method: "POST", body: sent, headers: { Accept: "text/html" } });
    const fresh = html(await answer.text());
    if (isSignIn(answer)) {
      editor.dataset.expired = "";
      failed("Nothing was sent, because your sign-in has expired. What you wrote is still here.", true);
      return false;
    }
    if (!fresh.getElementById("editor")) throw new Error(fresh.querySelector("h1")?.textContent || answer.statusText);
    if (answer.redirected) accepted(action, before, sent, answer.url);
    showAnswer(fresh, [...fresh.getElementById("notices").children]);
    const of = action.split(".")[0];
    if (of === "define" || of === "remove") rowsChanged(fresh, of);
    const lost = document.querySelector(".lost");
    if (lost) lost.focus();
    return answer.redirected;
  } catch (error) {
    failed(`Nothing was sent: ${error.message}. What you wrote is still here.`);
    return false;
  } finally {
    editor.ariaBusy = null;
    isChanged();
  }
}

function accepted(action, before, sent, url) {
  saved.draft = before;
  delete editor.dataset.unsaved;
  history.replaceState(null, "", url);
  // What was written while the answer was on its way stays.
  const clear = (field) => { if (field.value === sent.get(field.name)) field.value = ""; };
  if (action === "commit" || action === "enter") clear(editor.elements.message);
  if (action === "run") { clear(editor.elements.question); editor.elements.files.value = ""; }
}

function rowsChanged(fresh, action) {
  adopt(fresh, "placeholder-rows");
  const rows = [...editor.querySelectorAll("[data-placeholder]")];
  const defined = rows.at(-2);
  if (action === "define" && defined) defined.querySelector(".values input").focus();
  else rows.at(-1).querySelector("summary").focus();
  editor.dispatchEvent(new Event("input"));
}

function sending() {
  const button = (action) => editor.querySelector(`[name="do"][value="${action}"]`);
  editor.addEventListener("submit", async (event) => {
    event.preventDefault();
    // Saved here first, so that this form fits the stored draft when one comes back to it.
    const then = event.submitter?.dataset.then;
    if (then) {
      if (await send(button("save"))) location.assign(then);
      return;
    }
    // Enter in another field than the message saves.
    const inMessage = document.activeElement === editor.elements.message;
    send(event.submitter?.value === "enter" && !inMessage ? button("save") : event.submitter || button("save"));
  });
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    const action = { s: "save", Enter: "run" }[event.key];
    if (!action || !button(action)) return;
    event.preventDefault();
    send(button(action));
  });
}

if (editor) {
  // The fields as the server sent them: somebody may have written before this script was there.
  const asItCame = editor.cloneNode(true);
  asItCame.reset();
  mirror(document.getElementById("value"), editor);
  preview();
  grow(editor);
  unsaved(asItCame);
  sending();
  const written = [...editor.elements].filter((field, at) => field.value !== asItCame.elements[at].value);
  for (const field of written) field.dispatchEvent(new Event("input", { bubbles: true }));
  followAll();
  markRefused(editor);
  document.getElementById("conversation").scrollTop = 1e6;
  document.documentElement.classList.add("scripted");
}
