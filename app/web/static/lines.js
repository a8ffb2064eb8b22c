// The lines of a long text: their numbers and placeholders behind a field, and finding words in them.
"use strict";

// Slots, and what looks like one but has spaces in it.
const SLOT = /(\{\{[ \t]{0,20}[A-Za-z0-9_]{1,64}[ \t]{0,20}\}\})/;
// More matches than anybody looks at one by one.
const MATCHES_MAX = 1000;

// A line of a text with its placeholders marked; `keys` are those with a definition, as they are written.
function lineOf(text, keys) {
  const line = document.createElement("div");
  line.className = "line";
  line.append(...text.split(SLOT).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const mark = document.createElement("mark");
    mark.className = keys.has(piece) ? "" : "undefined";
    mark.textContent = piece;
    return mark;
  }), "\n");
  return line;
}

// The text again, behind the transparent one of the textarea, with the numbers of its lines and its placeholders marked.
// Only lines that have changed are drawn again.
function mirror(area, form) {
  const behind = document.createElement("div");
  behind.className = "behind code";
  behind.ariaHidden = "true";
  area.before(behind);
  area.parentElement.classList.add("numbered");
  let [lines, known] = [[], ""];
  const scroll = () => { behind.scrollTop = area.scrollTop; };
  const draw = () => {
    const keys = new Set([...form.querySelectorAll('[name$=".key"]')].map((input) => `{{${input.value}}}`));
    const fresh = area.value.split("\n");
    const defined = [...keys].join();
    const most = defined === known ? Math.min(lines.length, fresh.length) : 0;
    let [start, end] = [0, 0];
    while (start < most && lines[start] === fresh[start]) start++;
    while (end < most - start && lines.at(-1 - end) === fresh.at(-1 - end)) end++;
    const gone = [...behind.children].slice(start, lines.length - end);
    const made = fresh.slice(start, fresh.length - end).map((line) => lineOf(line, keys));
    const after = behind.children[lines.length - end] ?? null;
    for (const line of gone) line.remove();
    for (const line of made) behind.insertBefore(line, after);
    [lines, known] = [fresh, defined];
    // It decides on which side the room for a scrollbar is.
    behind.dir = getComputedStyle(area).direction;
    scroll();
  };
  area.addEventListener("scroll", scroll);
  new ResizeObserver(scroll).observe(area);
  form.addEventListener("input", draw);
  draw();
}

// The pieces of text in an element, each with its start in all of it.
function piecesOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const pieces = [];
  let start = 0;
  while (walker.nextNode()) {
    pieces.push({ node: walker.currentNode, start });
    start += walker.currentNode.data.length;
  }
  return pieces;
}

// Ranges of an element for matches, which are pairs of a start and an end in its text, in their order.
function rangesOf(element, matches) {
  const pieces = piecesOf(element);
  let at = 0;
  const place = (offset, isEnd) => {
    while (at + 1 < pieces.length && (isEnd ? pieces[at + 1].start < offset : pieces[at + 1].start <= offset)) at++;
    return [pieces[at].node, offset - pieces[at].start];
  };
  return matches.map(([start, end]) => {
    const range = new Range();
    range.setStart(...place(start, false));
    range.setEnd(...place(end, true));
    return range;
  });
}

function matchesIn(text, words) {
  if (!words) return [];
  const literal = words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const found = text.matchAll(new RegExp(literal, "giu"));
  return Array.from(found.take ? found.take(MATCHES_MAX) : found, (match) => [match.index, match.index + match[0].length]);
}

// <div data-find="id">: a field that finds words in the text of that element, a textarea with its mirror or a pre.
// Enter goes to the next match, Shift and Enter to the one before, Escape to the text, where the match is selected.
function finder(bar) {
  const [text, field, status] = [document.getElementById(bar.dataset.find), bar.querySelector("input"), bar.querySelector("output")];
  const isField = text.matches("textarea");
  const shown = isField ? text.parentElement.querySelector(".behind") : text;
  let [matches, ranges, current] = [[], [], -1];
  const content = () => isField ? text.value : text.textContent;
  const paint = () => {
    if (!CSS.highlights) return;
    CSS.highlights.set("found", new Highlight(...ranges));
    CSS.highlights.set("found-now", new Highlight(...ranges.filter((_, at) => at === current)));
  };
  const search = () => {
    matches = matchesIn(content(), field.value);
    ranges = rangesOf(shown, matches);
  };
  const report = () => {
    const many = matches.length < MATCHES_MAX ? matches.length : `${MATCHES_MAX.toLocaleString("en")} or more`;
    const line = () => content().slice(0, matches[current][0]).split("\n").length;
    status.textContent = !field.value ? "" : current < 0 ? "Not found" : `${current + 1} of ${many}, line ${line()}`;
  };
  const go = (to) => {
    current = matches.length ? (to + matches.length) % matches.length : -1;
    paint();
    report();
    if (current < 0) return;
    const [match, view] = [ranges[current].getBoundingClientRect(), shown.getBoundingClientRect()];
    const [top, height] = [match.top - view.top + shown.scrollTop, text.clientHeight];
    if (top < text.scrollTop || top + match.height > text.scrollTop + height) text.scrollTop = top - height / 3;
    if (isField) text.setSelectionRange(...matches[current]);
  };
  bar.addEventListener("input", (event) => {
    event.stopPropagation();
    const from = matches[current]?.[0] ?? 0;
    search();
    go(Math.max(0, matches.findIndex(([start]) => start >= from)));
  });
  bar.addEventListener("keydown", (event) => {
    if (event.target === field && event.key === "Enter") {
      event.preventDefault();
      go(current + (event.shiftKey ? -1 : 1));
    }
    if (event.key === "Escape") {
      event.preventDefault();
      text.focus({ preventScroll: true });
    }
  });
  bar.addEventListener("click", (event) => {
    const step = Number(event.target.closest("[data-step]")?.dataset.step);
    if (step) go(current + step);
  });
  if (isField) {
    text.form.addEventListener("input", () => {
      if (!field.value) return;
      search();
      current = Math.min(current, matches.length - 1);
      paint();
      report();
    });
  }
  bar.hidden = false;
}

// The editor makes the mirror of its text first.
addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-find]").forEach(finder));
