"use strict";
// The list of questions. Everything of the lake is put in as text, never as markup; rows are made when they are shown.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [PAGE, NONE] = [100, "–"];
  const $ = (id) => document.getElementById(id);
  const [list, controls] = [$("list"), $("controls")];
  const state = { sort: "change", down: false, shown: PAGE };
  let found = [];

  function el(tag, name, ...children) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const number = (value, metric = "") =>
    value === null || value === undefined ? NONE : /^tokens/.test(metric) ? Math.round(value).toLocaleString("en") : value.toFixed(3);
  const pages = (from, to) => (from === null || from === undefined ? "" : from === to ? `p. ${from}` : `p. ${from}–${to}`);
  const ranks = (given) => given.map((rank) => rank ?? NONE).join(" ");
  const joined = (...parts) => parts.filter(Boolean).join(" · ");
  const arm = (which) => Number($(which).value);
  const several = data.arms.length > 1;

  function choices(select, names, chosen) {
    names.forEach((name, place) => select.append(new Option(name, place)));
    if (chosen !== undefined) select.value = chosen;
  }

  // --- which questions, in which order

  function outcome(q) {
    const [before, after] = [q.v[arm("first")][arm("metric")], q.v[arm("second")][arm("metric")]];
    return before === null || after === null ? null : after - before;
  }

  const best = (given) => Math.min(...given.map((rank) => rank ?? Infinity));
  const failed = (q) => q.t.some((taken) => taken[4]);
  const OUTCOMES = {
    lost: (q) => outcome(q) < 0,
    won: (q) => outcome(q) > 0,
    tied: (q) => outcome(q) === 0,
    missed: (q) => [arm("first"), arm("second")].every((which) => best(q.r[which]) === Infinity),
    failed,
  };
  const KEYS = {
    question: (q) => q.q.toLowerCase(),
    category: (q) => q.c,
    first: (q) => best(q.r[arm("first")]),
    second: (q) => best(q.r[arm("second")]),
    before: (q) => q.v[arm("first")][arm("metric")] ?? -1,
    after: (q) => q.v[arm("second")][arm("metric")] ?? -1,
    change: (q) => outcome(q) ?? 9,
  };

  function choose() {
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [kind, slice] = [$("outcome").value, $("slice").value];
    const fits = (q) => {
      const text = `${q.id} ${q.q} ${q.c} ${q.g.map((gold) => data.documents[gold[0]][0]).join(" ")}`.toLowerCase();
      return (!kind || OUTCOMES[kind](q)) && (!slice || q.s.includes(Number(slice))) && words.every((word) => text.includes(word));
    };
    const keyed = data.questions.filter(fits).map((q) => [KEYS[state.sort](q), q]);
    const turn = state.down ? -1 : 1;
    keyed.sort(([a, p], [b, q]) => (a < b ? -turn : a > b ? turn : p.id < q.id ? -1 : 1));
    found = keyed.map(([, q]) => q);
    state.shown = PAGE;
  }

  // --- the list

  function heads() {
    const [one, other] = [data.arms[arm("first")], data.arms[arm("second")]];
    const metric = data.metrics[arm("metric")];
    const columns = [["question", "Question", ""], ["category", "Category", "c"], ["first", several ? `Rank, ${one}` : "Rank", "n"]];
    if (several) columns.push(["second", `Rank, ${other}`, "n"]);
    columns.push(["before", several ? one : metric, "n"]);
    if (several) columns.push(["after", other, "n"], ["change", `Change of ${metric}`, "n"]);
    return columns;
  }

  function head() {
    const row = list.tHead.rows[0];
    row.replaceChildren(...heads().map(([key, title, name]) => {
      const button = el("button", "", title, state.sort === key ? (state.down ? " ▾" : " ▴") : "");
      button.type = "button";
      button.dataset.sort = key;
      const cell = el("th", name, button);
      cell.scope = "col";
      cell.setAttribute("aria-sort", state.sort === key ? (state.down ? "descending" : "ascending") : "none");
      return cell;
    }));
  }

  function row(q) {
    const change = outcome(q);
    const open = el("button", "open", el("span", "", q.q));
    open.type = "button";
    open.setAttribute("aria-expanded", "false");
    open.dataset.id = q.id;
    const metric = data.metrics[arm("metric")];
    const cells = {
      question: el("td", "q", open),
      category: el("td", "c", failed(q) ? `${q.c} · failed` : q.c),
      first: el("td", "n", ranks(q.r[arm("first")])),
      second: el("td", "n", ranks(q.r[arm("second")])),
      before: el("td", "n", number(q.v[arm("first")][arm("metric")], metric)),
      after: el("td", "n", number(q.v[arm("second")][arm("metric")], metric)),
      change: el("td", change > 0 ? "n won" : change < 0 ? "n lost" : "n",
        change === null ? NONE : change > 0 ? `▲ +${number(change, metric)}` : change < 0 ? `▼ −${number(-change, metric)}` : "="),
    };
    const made = el("tr", "", ...heads().map(([key]) => cells[key]));
    open.addEventListener("click", () => toggle(q, made, open));
    return made;
  }

  function toggle(q, after, open) {
    const opened = open.getAttribute("aria-expanded") === "true";
    open.setAttribute("aria-expanded", String(!opened));
    if (opened) return after.nextElementSibling.remove();
    const cell = el("td", "", detail(q));
    cell.colSpan = after.cells.length;
    after.after(el("tr", "detail", cell));
  }

  function rows(from) {
    const to = Math.min(state.shown, found.length);
    list.tBodies[0].append(...found.slice(from, to).map(row));
    $("count").textContent = `${found.length.toLocaleString("en")} of ${data.questions.length.toLocaleString("en")} questions`;
    $("more").hidden = to >= found.length;
    $("more").textContent = `Show ${Math.min(PAGE, found.length - to)} more of ${found.length - to}`;
  }

  function show() {
    choose();
    head();
    list.tBodies[0].replaceChildren();
    rows(0);
  }

  // --- one question

  function detail(q) {
    const facts = el("dl", "");
    const fact = (name, ...value) => facts.append(el("dt", "", name), el("dd", "", ...value));
    fact("Question", q.id);
    if (q.c) fact("Category", q.c);
    if (q.a) fact("Answer", q.a);
    q.g.forEach((gold, place) => fact(q.g.length > 1 ? `Evidence ${place + 1}` : "Evidence", evidence(q, gold, place)));
    const order = [...new Set([arm("first"), arm("second"), ...data.arms.keys()])];
    return el("div", "", facts, key(), el("div", "sides", ...order.map((which) => side(q, which))));
  }

  function evidence(q, gold, place) {
    const [document_, start, end, page, quote, type, item, sure] = gold;
    const where = joined(named(document_), item && `Item ${item}`, page === null ? "" : `p. ${page}`, type);
    const by = data.arms.map((name, which) => `${several ? `${name}: ` : "rank "}${q.r[which][place] ?? "not found"}`).join(", ");
    const text = sure ? () => passage(q, document_, start, end, 0, 0, null) : () => el("p", "about", "Its text was parsed anew since.");
    return el("div", "evidence", el("div", "", quote), el("div", "where", where, link(document_)), el("div", "where", by),
      unfolding(el("summary", "", "in its document"), text));
  }

  function named(place) {
    const [company, form, period, accession, , sequence] = data.documents[place];
    return joined(company || accession, form, period, Number(sequence) > 1 ? `document ${sequence}` : "");
  }

  function link(place) {
    const [, , , accession, url] = data.documents[place];
    if (!url) return ` · ${accession}`;
    const made = el("a", "", accession);
    Object.assign(made, { href: url, rel: "noreferrer noopener", target: "_blank" });
    return el("span", "", " · ", made);
  }

  function key() {
    return el("p", "key", "In passages: ", el("span", "gold", "evidence"), el("span", "hit", "hit"),
      el("span", "given", "given in its place"));
  }

  function side(q, which) {
    const [seconds, tokens, usd, filters, error, notes] = q.t[which];
    const took = joined(seconds === null ? "" : `${(1000 * seconds).toFixed(0)} ms`, tokens === null ? "" : `${tokens.toLocaleString("en")} tokens`,
      usd === null ? "" : `$${usd.toPrecision(3)}`);
    const values = data.metrics.map((metric, place) => `${metric} ${number(q.v[which][place], metric)}`).slice(0, 4).join(", ");
    const made = el("div", "", el("h4", "", data.arms[which]), el("div", "where", values), el("div", "where", took));
    for (const [name, value] of [["Filters", filters], ["Error", error], ["Notes", notes]])
      if (value) made.append(el("div", name === "Error" ? "bad" : "where", `${name}: ${value}`));
    const hits = el("ol", "hits", ...q.h[which].map((hit) => el("li", "", shown(q, hit))));
    made.append(q.h[which].length ? hits : el("p", "about", "Nothing was found."));
    return made;
  }

  function shown(q, hit) {
    const [rank, chunk, score, gold, givenStart, givenEnd, tokens] = hit;
    const [document_, start, end, section, from, to, sure] = data.chunks[chunk];
    const title = el("summary", "", `${rank}  `, gold.length ? el("span", "tag", q.g.length > 1 ? `evidence ${gold.map((n) => n + 1).join(", ")}` : "evidence") : null,
      ` ${joined(named(document_), section, pages(from, to))} `,
      el("span", "where", joined(`score ${score}`, tokens === null ? "" : `${tokens.toLocaleString("en")} tokens`)));
    const given = givenStart === null ? null : [givenStart, givenEnd];
    return unfolding(title, async () => sure ? el("div", "", el("div", "where", `characters ${start}–${end}`, link(document_)),
      rank <= data.ranks ? await passage(q, document_, start, end, start, end, given) : el("p", "about", `Passages beyond rank ${data.ranks} are left out: the page would be too large.`))
      : el("p", "about", "The lake no longer has the text that was searched."));
  }

  function unfolding(summary, make) {
    const made = el("details", "", summary);
    made.addEventListener("toggle", async () => {
      if (!made.open || made.childElementCount > 1) return;
      const body = el("div", "");
      made.append(body);
      body.append(await make());
      for (const box of made.querySelectorAll(".passage")) {
        const mark = box.querySelector(".gold, .hit");
        if (mark) box.scrollTop = Math.max(0, mark.offsetTop - box.offsetTop - 60);
      }
    });
    return made;
  }

  // --- a passage in its document

  const AROUND = 400;
  let unpacking = null;

  // Texts by document, unpacked once.
  const texts = () => (unpacking ??= unpacked(atob($("texts").textContent)));

  async function unpacked(packed) {
    const bytes = new Uint8Array(packed.length);
    for (let n = 0; n < packed.length; n++) bytes[n] = packed.charCodeAt(n);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  async function passage(q, document_, start, end, hitStart, hitEnd, given) {
    const [from, to] = [Math.max(0, Math.min(start, given ? given[0] : start) - AROUND), Math.max(end, given ? given[1] : end) + AROUND];
    const gold = q.g.filter((one) => one[0] === document_ && one[7]).map((one) => [one[1], one[2]]);
    const marks = [["gold", gold], ["hit", [[hitStart, hitEnd]]], ["given", given && given[0] < given[1] ? [given] : []]];
    const made = el("div", "passage");
    made.tabIndex = 0;
    let reached = from;
    const kept = (await texts())[document_];
    for (let n = 0; n < kept.length; n += 2) {
      const points = [...kept[n + 1]];
      const [first, last] = [Math.max(from, kept[n]), Math.min(to, kept[n] + points.length)];
      if (first >= last) continue;
      if (first > reached) made.append(gap(first - reached));
      made.append(...marked(points, kept[n], first, last, marks));
      reached = last;
    }
    if (reached === from) made.append(gap(to - from));
    else if (reached < Math.max(end, given ? given[1] : end)) made.append(gap(Math.max(end, given ? given[1] : end) - reached));
    return made;
  }

  const gap = (characters) => el("span", "gap", `[${characters.toLocaleString("en")} characters left out]`);

  // Pieces between all borders, each with the classes of what covers it. Ranges count code points, as the lake does.
  function marked(points, offset, first, last, marks) {
    const borders = new Set([first, last]);
    for (const [, ranges] of marks) for (const range of ranges) for (const place of range) if (place > first && place < last) borders.add(place);
    const places = [...borders].sort((a, b) => a - b);
    return places.slice(0, -1).map((place, n) => {
      const names = marks.filter(([, ranges]) => ranges.some(([start, end]) => start <= place && place < end)).map(([name]) => name);
      const text = points.slice(place - offset, places[n + 1] - offset).join("");
      return names.length ? el(names[0] === "gold" ? "mark" : "span", names.join(" "), text) : text;
    });
  }

  // --- beginning

  choices($("first"), data.arms, 0);
  choices($("second"), data.arms, Math.min(1, data.arms.length - 1));
  choices($("metric"), data.metrics, 0);
  choices($("slice"), data.slices);
  for (const id of ["first", "second"]) $(id).parentElement.hidden = !several;
  if (!several) {
    for (const kind of ["lost", "won", "tied"]) $("outcome").querySelector(`[value=${kind}]`).remove();
    $("outcome").querySelector("[value=missed]").textContent = "not found";
    state.sort = "before";
  }
  controls.hidden = list.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("input", show);
  list.tHead.addEventListener("click", (event) => {
    const key = event.target.closest("button")?.dataset.sort;
    if (!key) return;
    state.down = state.sort === key && !state.down;
    state.sort = key;
    show();
    list.tHead.querySelector(`[data-sort=${key}]`).focus();
  });
  $("more").addEventListener("click", () => {
    const from = state.shown;
    state.shown += PAGE;
    rows(from);
  });
  show();
})();
