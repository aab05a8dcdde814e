"use strict";
// Search without a server: items.json is read once and indexed here. Everything that people wrote enters the page as
// text (textContent), and an address becomes a link only when it is one of the web.
(() => {
  const [NUMBER, KIND, STATE, TITLE, LABELS, DAY, TEXT, URL_, REF] = Array(9).keys();
  const main = document.querySelector("main");
  const isDraft = main.dataset.page === "before";
  const field = document.getElementById("query");
  const list = document.getElementById("hits");
  const status = document.getElementById("status");
  const chosen = ["state", "kind"].map((name) => document.getElementById(name));
  const fileLink = document.getElementById("file");
  const MOST = isDraft ? 8 : 30;
  const MAX_WORDS = 60; // of a pasted log
  const WORDS = /[\n\r\p{Z}\p{P}\p{S}]+/u;
  let items = [];
  let found = null; // the index, once it is made
  let shown = MOST;

  const split = (text) => text.split(WORDS);
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const withMarks = (parent, text, terms) => {
    for (const part of text.split(/([^\n\r\p{Z}\p{P}\p{S}]+)/u)) {
      if (!part) continue;
      parent.append(terms.has(part.toLowerCase()) ? element("mark", part) : part);
    }
    return parent;
  };

  const passage = (text, terms) => {
    const lower = text.toLowerCase();
    let first = 0;
    for (const term of terms) {
      const at = lower.indexOf(term);
      if (at > 0 && (!first || at < first)) first = at;
    }
    const start = first > 80 ? text.indexOf(" ", first - 60) + 1 : 0;
    return (start ? "… " : "") + text.slice(start, start + 220) + (text.length > start + 220 ? " …" : "");
  };

  const row = (item, terms) => {
    const made = element("li", undefined, "hit");
    const head = element("div");
    head.append(element("span", item[STATE], `state ${item[STATE] === "open" ? "open" : "ended"}`), " ");
    const isWeb = /^https?:\/\//i.test(item[URL_]);
    const title = withMarks(element(isWeb ? "a" : "span", undefined, "title"), item[TITLE], terms);
    if (isWeb) {
      title.href = item[URL_];
      title.rel = "noreferrer noopener nofollow";
    }
    title.dir = "auto";
    head.append(title, " ", element("span", item[REF], "dim"));
    const about = [item[KIND], item[DAY], item[LABELS]].filter(Boolean).join(" · ");
    made.append(head, element("div", about, "dim small"));
    if (item[TEXT]) made.append(withMarks(element("p", undefined, "small"), passage(item[TEXT], terms), terms));
    return made;
  };

  const fits = (item) => {
    const [state, kind] = chosen.map((one) => (one ? one.value : ""));
    return (!state || (item[STATE] === "open") === (state === "open")) && (!kind || item[KIND] === kind);
  };

  const look = (query) => {
    const text = split(query).filter(Boolean).slice(0, MAX_WORDS).join(" ");
    const filter = (hit) => fits(items[hit.id]);
    const options = { filter, prefix: (term) => term.length > 2, fuzzy: (term) => (term.length > 5 ? 0.15 : false) };
    const all = isDraft ? [] : found.search(text, { ...options, combineWith: "AND" });
    const hits = all.length ? all : found.search(text, { ...options, combineWith: "OR" });
    const number = /^[#!]?(\d{1,9})$/.exec(query.trim());
    const named = number ? items.flatMap((item, id) => (item[NUMBER] === Number(number[1]) ? [{ id, terms: [] }] : [])) : [];
    return [...named, ...hits.filter((hit) => !named.some((one) => one.id === hit.id))];
  };

  const show = () => {
    if (!found) return;
    const query = field.value.trim();
    const hits = query
      ? look(query)
      : isDraft
        ? []
        : items.flatMap((item, id) => (fits(item) ? [{ id, terms: [] }] : []));
    list.replaceChildren(...hits.slice(0, shown).map((hit) => row(items[hit.id], new Set(hit.terms))));
    document.getElementById("more").hidden = hits.length <= shown;
    status.textContent = !query
      ? isDraft
        ? "Closed items are searched too: the answer may be in one."
        : `${hits.length.toLocaleString("en")} items, those that changed last first`
      : hits.length
        ? `${hits.length.toLocaleString("en")} found`
        : "Nothing found. Try fewer or other words, such as those of the error message.";
    if (fileLink && fileLink.dataset.new) {
      const title = query.split("\n")[0].slice(0, 150);
      fileLink.href = fileLink.dataset.new + encodeURIComponent(title);
    }
    if (!isDraft) {
      const values = new URLSearchParams();
      if (query) values.set("q", query);
      for (const one of chosen) if (one && one.value) values.set(one.id, one.value);
      history.replaceState(null, "", values.size ? `?${values}` : location.pathname);
    }
  };

  let waiting = 0;
  const again = () => {
    shown = MOST;
    clearTimeout(waiting);
    waiting = setTimeout(show, 120);
  };

  const step = (by) => {
    const links = [...list.querySelectorAll("a.title")];
    const at = links.indexOf(document.activeElement) + by;
    if (links.length) links[Math.max(0, Math.min(links.length - 1, at))].focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      field.focus();
      field.select();
    }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  field.addEventListener("input", again);
  for (const one of chosen) if (one) one.addEventListener("change", again);
  document.getElementById("more").addEventListener("click", () => {
    shown += MOST;
    show();
  });

  const start = async () => {
    const given = new URLSearchParams(location.search);
    field.value = given.get("q") || given.get("title") || "";
    for (const one of chosen) if (one) one.value = given.get(one.id) || "";
    const answer = await fetch("items.json");
    items = (await answer.json()).items;
    const index = new MiniSearch({
      fields: ["title", "labels", "text"],
      idField: "id",
      tokenize: split,
      searchOptions: { boost: { title: 3, labels: 1.5 } },
    });
    const documents = items.map((item, id) => ({ id, title: item[TITLE], labels: item[LABELS], text: item[TEXT] }));
    await index.addAllAsync(documents, { chunkSize: 1000 });
    found = index;
    main.dataset.ready = String(items.length);
    show();
  };
  start().catch(() => {
    status.textContent =
      location.protocol === "file:"
        ? "This page needs a web server. In its folder, run: python3 -m http.server"
        : "The items could not be read. Load the page again.";
  });
})();
