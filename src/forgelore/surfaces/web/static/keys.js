// Keys: the page works without them, and without any script.
"use strict";

const rows = () => [...document.querySelectorAll("[data-row]")];
let waitsForPage = false;

function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  const link = next.querySelector("a.title") || next.querySelector("a");
  if (link) {
    link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}

function openOutside() {
  const row = rows().find((one) => one.contains(document.activeElement));
  const link = (row || document).querySelector("[data-outside]");
  if (link) link.click();
}

function explain() {
  const row = rows().find((one) => one.contains(document.activeElement)) || rows()[0];
  const details = row && row.querySelector("details.why");
  if (details) details.open = !details.open;
}

function showHelp() {
  const help = document.getElementById("help");
  if (help && !help.open) help.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing) {
    if (event.key === "Escape" && typing.id === "find") typing.blur();
    return;
  }
  if (waitsForPage) {
    waitsForPage = false;
    const path = { h: "/", d: "/duplicates", c: "/changes", f: "/files", a: "/ask", r: "/report", p: "/projects" }[event.key];
    if (path) location.assign(path + (new URLSearchParams(location.search).get("project") ? `?project=${encodeURIComponent(new URLSearchParams(location.search).get("project"))}` : ""));
    return;
  }
  const own = document.querySelector(`[data-key="${CSS.escape(event.key)}"]:not([disabled])`);
  if (own) own.click();
  else if (event.key === "/") document.getElementById("find")?.select();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "o") openOutside();
  else if (event.key === "e") explain();
  else if (event.key === "g") waitsForPage = true;
  else if (event.key === "?") showHelp();
  else return;
  event.preventDefault();
});

document.querySelector("[data-help]")?.addEventListener("click", showHelp);
