// Reading a session: more turns when they are looked at, long texts in their places, keys from turn to turn.
"use strict";

// <a data-more href="…">: the whole text of that page, in place of its beginning.
async function showAll(link) {
  const value = link.closest("[data-value]");
  const shown = value.querySelector("[id]");
  link.ariaBusy = "true";
  let whole;
  try {
    whole = (await fetched(link.href)).querySelector("[data-whole] [data-value]");
  } catch {
    whole = null;
  }
  if (!whole) return location.assign(link.href);
  const source = whole.querySelector("[id]");
  source.id = shown.id;
  for (const rendered of whole.querySelectorAll("[data-rendered]")) rendered.dataset.rendered = shown.id;
  value.replaceChildren(...document.adoptNode(whole).childNodes);
  source.tabIndex = 0;
  source.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  if (!unmodified(event) || event.shiftKey) return;
  const more = event.target.closest("a[data-more]");
  if (more) { event.preventDefault(); showAll(more); }
});

// The turns after the last one, when that is almost reached.
const turns = document.querySelector(".turns");
async function showLater(place) {
  let page;
  try {
    page = await fetched(place.querySelector("a").href.split("#")[0]);
  } catch {
    return;
  }
  const found = page.querySelector(".turns");
  if (!found || !place.isConnected) return;
  for (const line of page.querySelectorAll(".outline li[data-part]")) {
    document.getElementById(line.id)?.replaceWith(document.adoptNode(line));
  }
  found.querySelector("[data-before]")?.remove();
  place.replaceWith(...document.adoptNode(found).childNodes);
  enhance(turns);
  watch();
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    showLater(entry.target);
  }
}, { rootMargin: "1200px" });

function watch() {
  const place = turns.querySelector("[data-after]");
  if (place) watcher.observe(place);
}

// + and -: rates the session. j and k: the next turn and the one before; J and K: the next entry of the log and the one before.
function step(by) {
  if (!turns) {
    const links = [...document.querySelectorAll("[data-worked] th a")];
    return links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))]?.focus();
  }
  const all = [...turns.querySelectorAll(".turn")];
  const focused = all.indexOf(document.activeElement.closest(".turn"));
  const reached = focused >= 0 ? focused : all.findLastIndex((turn) => turn.getBoundingClientRect().top < 40);
  const next = all[Math.max(0, reached + by)];
  if (next) { next.scrollIntoView(); next.focus({ preventScroll: true }); }
}

// e: the next turn with an error, or the first one after the last.
function nextError() {
  const all = [...turns.querySelectorAll(".turn")];
  const reached = all.indexOf(document.activeElement.closest(".turn"));
  const next = all.slice(reached + 1).find((turn) => "failed" in turn.dataset);
  if (next) { next.scrollIntoView(); return next.focus({ preventScroll: true }); }
  const link = all[reached]?.querySelector("a[data-next-error]") || document.querySelector("a[data-next-error]");
  link?.click();
}

document.addEventListener("keydown", (event) => {
  if (!unmodified(event) || typing(event) || document.querySelector("dialog[open]")) return;
  const pressed = document.querySelector(`[data-press="${CSS.escape(event.key)}"]`);
  if (pressed) return pressed.click();
  const neighbour = document.querySelector(`a[data-go="${CSS.escape(event.key)}"]`);
  if (neighbour) return neighbour.click();
  if (!(turns ? ["j", "k", "e"] : ["j", "k"]).includes(event.key)) return;
  event.preventDefault();
  if (event.key === "e") nextError();
  else step(event.key === "j" ? 1 : -1);
});

if (turns) watch();
