// The search: sections that have every word, those that have them in their heading first. The index is a script, so
// that it also loads from file://, and is loaded when the search is first used.
"use strict";
const box = document.getElementById("search");
const list = document.getElementById("found");
const up = document.body.dataset.up;
let sections = null;

function showFound(index) {
  sections = index ?? sections;
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const [place, page, heading, text] of words.length && sections ? sections : []) {
    const title = `${page} ${heading}`.toLowerCase();
    const body = text.toLowerCase();
    if (!words.every((word) => title.includes(word) || body.includes(word))) continue;
    found.push({ place, page, heading, text, rank: words.filter((word) => title.includes(word)).length });
  }
  found.sort((a, b) => b.rank - a.rank);
  list.replaceChildren(...found.slice(0, 20).map((section) => item(section, words)));
}

function item({ place, page, heading, text }, words) {
  const link = document.createElement("a");
  link.href = up + place;
  link.textContent = page === heading ? page : `${page}: ${heading}`;
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word))) - 40;
  const excerpt = document.createElement("small");
  excerpt.textContent = text.slice(Math.max(0, at), Math.max(0, at) + 120);
  const line = document.createElement("li");
  line.append(link, excerpt);
  return line;
}

function load() {
  const script = document.createElement("script");
  script.src = `${up}search-index.js`; // calls showFound(index)
  document.head.append(script);
}

document.querySelector("nav .here")?.scrollIntoView({ block: "nearest" });
box.addEventListener("focus", load, { once: true });
box.addEventListener("input", () => showFound());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  }
});
