(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const field = (name) => form.elements.namedItem(name);
  const cards = [...document.querySelectorAll("[data-card]")];
  const state = document.getElementById("state");
  const name = (card) => card.dataset.kind + "\n" + card.dataset.id;
  const part = (card) => card.closest("[data-section]").id.slice("kind-".length);
  const twins = new Map();  // a label may be in the sample too: both cards are one finding
  for (const card of cards) twins.set(name(card), [...(twins.get(name(card)) || []), card]);
  const single = () => [...twins.values()].map((some) => some[0]);
  const written = new Map(cards.map((card) => [card, card.dataset.verdict]));

  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(form.dataset.key)) || {}; } catch { kept = {}; }
  const keep = () => {
    const marks = {};
    for (const card of cards) {
      const verdict = card.dataset.verdict, selected = card.classList.contains("selected");
      if (verdict !== written.get(card) || selected) marks[name(card)] = [verdict, selected];
    }
    try { localStorage.setItem(form.dataset.key, JSON.stringify(marks)); } catch { /* private window: export still works */ }
  };

  const show = (card) => {
    for (const button of card.querySelectorAll("[data-act]")) {
      const on = button.dataset.act === "selected" ? card.classList.contains("selected") : button.dataset.act === card.dataset.verdict;
      button.setAttribute("aria-pressed", String(on));
    }
  };
  const act = (card, what) => {
    const verdict = card.dataset.verdict === what ? "" : what, selected = !card.classList.contains("selected");
    for (const one of twins.get(name(card))) {
      if (what === "selected") one.classList.toggle("selected", selected);
      else one.dataset.verdict = verdict;
      show(one);
    }
    keep();
    count();
  };

  let visible = cards;
  const count = () => {
    const every = single(), marked = every.filter((card) => card.dataset.verdict).length;
    const selected = every.filter((card) => card.classList.contains("selected")).length;
    state.textContent = `${new Set(visible.map(name)).size} of ${every.length} findings shown, ${marked} marked, ${selected} selected.`;
  };
  const words = new Map(cards.map((card) => [card, card.textContent.toLowerCase() + " " + card.dataset.id.toLowerCase()]));
  const filter = () => {
    const kind = field("kind").value, group = field("class") ? field("class").value : "";
    const least = Number(field("least").value) / 100, wanted = field("words").value.trim().toLowerCase();
    field("shown").value = Math.round(least * 100) + "\u00a0%";
    for (const card of cards) {
      const of = card.dataset;
      card.hidden = (kind && part(card) !== kind) || (group && of.label !== group && of.suggestion !== group)
        || Number(of.probability) < least || (wanted && !words.get(card).includes(wanted)) || (field("open").checked && of.verdict !== "");
    }
    visible = cards.filter((card) => !card.hidden);
    for (const section of document.querySelectorAll("[data-section]")) {
      const any = section.querySelector("[data-card]:not([hidden])");
      section.querySelector(".none").hidden = Boolean(any);
      section.hidden = Boolean(kind) && section.id !== "kind-" + kind;
    }
    count();
  };

  const go = (card) => {
    if (!card) return;
    for (const one of card.parentElement.querySelectorAll("[data-card]")) one.tabIndex = one === card ? 0 : -1;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  };
  const below = (card, way) => {
    const from = card.getBoundingClientRect();
    let best = null, distance = Infinity;
    for (const one of visible) {
      const at = one.getBoundingClientRect(), down = way * (at.top - from.top);
      if (down < 4) continue;
      const far = down * 10 + Math.abs(at.left - from.left);
      if (far < distance) [best, distance] = [one, far];
    }
    return best;
  };

  const quoted = (text) => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const save = () => {
    const lines = [["id", "kind", "verdict", "selected", "label", "suggestion"]];
    for (const card of single()) {
      const of = card.dataset, selected = card.classList.contains("selected");
      if (of.verdict || selected) lines.push([of.id, of.kind, of.verdict, selected ? "yes" : "", of.label, of.suggestion]);
    }
    const text = lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "marks.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    state.textContent = `${lines.length - 1} findings exported to marks.csv.`;
  };

  const keys = { w: "confirmed", r: "refused", a: "selected" };  // as in the viewer, or unused there
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const card = event.target.closest("[data-card]"), at = visible.indexOf(card);
    const moves = {
      j: () => visible[at + 1] || visible[at], p: () => visible[Math.max(at - 1, 0)],
      ArrowRight: () => card && visible[at + 1], ArrowLeft: () => card && visible[at - 1],
      ArrowDown: () => card && below(card, 1), ArrowUp: () => card && below(card, -1),
    };
    if (Object.hasOwn(moves, event.key)) {
      const next = moves[event.key]();
      if (!next) return;
      go(next);
    } else if (card && Object.hasOwn(keys, event.key)) act(card, keys[event.key]);
    else if (card && event.key === "x") { if (card.dataset.verdict) act(card, card.dataset.verdict); }
    else if (event.key === "/") field("words").focus();
    else if (event.key === "e") save();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const card = event.target.closest("[data-card]"), button = event.target.closest("[data-act]");
    if (!card) return;
    if (button) act(card, button.dataset.act);
    go(card);
  });
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("export").addEventListener("click", save);

  for (const card of cards) {
    const mark = Object.hasOwn(kept, name(card)) ? kept[name(card)] : null;
    if (Array.isArray(mark)) {
      if (["", "confirmed", "refused"].includes(mark[0])) card.dataset.verdict = mark[0];
      card.classList.toggle("selected", mark[1] === true);
    }
    for (const acts of card.querySelectorAll(".acts")) acts.hidden = false;
    show(card);
  }
  form.hidden = false;
  filter();
})();
