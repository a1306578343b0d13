// The panel of one example: everything the run says about it.
import { el, svg, byId, number, choice, many } from "./dom.js";
import { get } from "./api.js";
import { state, on, tell } from "./state.js";
import { act } from "./marks.js";

const panel = byId("panel");
let shown = null;
let asking = 0;
export const isOpen = () => !panel.hidden;
export const shownExample = () => (isOpen() ? shown : null);

async function open(row) {
  const mine = (asking += 1);
  try {
    const found = await get("/api/example", { row });
    if (mine !== asking) return;  // another one was asked for since
    const focused = panel.contains(document.activeElement) ? document.activeElement.id : null;
    const moved = shown?.row !== found.row;
    shown = found;
    panel.hidden = false;
    document.body.classList.add("with-panel");
    draw(found);
    if (moved) panel.scrollTop = 0;
    if (focused !== null) (byId(focused) || byId("grid")).focus({ preventScroll: true });
  } catch (error) { tell("error", error); }
}

const go = (row) => tell("active", { row, open: true, alone: true });  // an example that need not be in the view

export function close() {
  asking += 1;
  panel.hidden = true;
  document.body.classList.remove("with-panel");
  byId("grid").focus();
}

function draw(one) {
  panel.replaceChildren(
    el("div", { class: "bar" }, el("h2", { tabindex: "-1" }, one.label ?? "Example"), el("span", { class: "grow" }), el("button", { type: "button", id: "close-panel", on: { click: close } }, "Close")),
    el("p", { class: "soft id" }, one.id, one.observed ? "" : " (not in the run)"),
    input(one),
    facts(one),
    marking(one),
    one.issues.length ? el("section", {}, el("h3", {}, "Issues"), ...one.issues.map(issue)) : "",
    el("section", {}, el("h3", {}, "Scores"), scores(one)),
    one.curves.length ? el("section", {}, el("h3", {}, "Learning curves"), curve(one, "probabilities", "probability of the label"), curve(one, "losses", "loss"), rights(one)) : "",
    one.soft.length ? el("section", {}, el("h3", {}, "Soft target"), bars(one.soft)) : "",
    one.relations ? el("section", {}, el("h3", {}, "Learned together with, by lpNTK"), others(one.relations.together, (p) => `${number(p.projection)} · cosine ${number(p.cosine)}`),
      el("h3", {}, "Learned against"), others(one.relations.against, (p) => `${number(p.projection)} · cosine ${number(p.cosine)}`)) : "",
    one.near.length ? el("section", {}, el("h3", {}, "Nearest"), el("p", { class: "soft" }, `Distance by ${one.near_said}.`), others(one.near, (p) => number(p.distance))) : "",
  );
}

function input(one) {
  if (one.picture) return el("img", { class: "large", src: `/picture/${one.row}?side=large`, alt: `the picture, labelled ${one.label ?? "nothing"}` });
  if (one.text !== undefined) return el("blockquote", {}, one.text);
  if (one.cells) return el("div", { class: "scroll cells", tabindex: "0", role: "region", "aria-label": "Columns" }, el("table", {}, el("tbody", {}, ...one.cells.map((cell, k) => el("tr", {}, el("th", { scope: "row" }, one.columns[k] ?? k), el("td", {}, cell))))));
  return el("p", {}, one.id);
}

const facts = (one) => el("dl", {},
  ...(one.label === null ? [] : [el("dt", {}, "given label"), el("dd", {}, one.label)]),
  ...(one.predicted ? [el("dt", {}, "networks say"), el("dd", { class: one.predicted === one.label ? "" : "strong" }, one.predicted)] : []),
  ...Object.entries(one.members).flatMap(([name, inside]) => [el("dt", {}, name), el("dd", {}, inside ? "kept" : "left out")]));

function marking(one) {
  const button = (id, key, text, change, pressed) => el("button", { type: "button", id, "aria-pressed": String(Boolean(pressed)), title: `key ${key}`, on: { click: () => act(change) } }, text, el("kbd", {}, key));
  const { verdict, correction, choice: decided } = one.mark;
  const idea = one.suggestion;
  return el("section", { class: "marking" }, el("h3", {}, "Mark"), el("div", { class: "buttons" },
    one.label === null ? "" : button("mark-wrong", "w", "label is wrong", "wrong", verdict === "confirmed" && !correction),
    one.label === null ? "" : button("mark-right", "r", "label is right", "right", verdict === "refused"),
    idea ? button("mark-suggestion", "s", `correct to ${idea}`, "suggestion", correction === idea) : "",
    button("mark-drop", "d", "drop", "drop", decided === "drop"),
    button("mark-keep", "k", "keep always", "keep", decided === "keep")),
  one.label === null ? "" : corrected(correction));
}

function corrected(correction) {
  const { task, classes } = state.about;
  const send = (word) => { act("correct", word.trim()); byId("grid").focus({ preventScroll: true }); };
  if (task === "classification") return choice("corrected label", [["", correction ? "no correction" : "correct to ..."], ...classes.map((name) => [name, name])], correction, send, { id: "correct" });
  const hint = task === "regression" ? "a number" : "labels, separated by commas";
  return el("label", { class: "field" }, el("span", {}, `corrected label (${hint})`), el("input", { type: "text", id: "correct", value: correction, on: { change: (event) => send(event.target.value) } }));
}

const issue = (one) => el("p", {}, el("strong", {}, one.kind), ` ${number(one.probability)}: ${one.evidence}.`, one.suggestion ? ` Likely ${one.suggestion}.` : "",
  one.other_row !== null ? el("button", { type: "button", on: { click: () => go(one.other_row) } }, `see ${one.other}`) : "");

const scores = (one) => el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "score"), el("th", {}, "value"), el("th", {}, "percentile"))),
  el("tbody", {}, ...one.scores.map((score) => el("tr", {}, el("th", { scope: "row" }, score.name), el("td", {}, number(score.value)),
    el("td", { class: "percentile" }, el("span", { class: "meter" }, el("span", { class: "fill", style: { width: `${score.percentile}%` } })), ` ${Math.round(score.percentile)}`)))));

const bars = (parts) => el("table", {}, el("tbody", {}, ...parts.map((part) => el("tr", {}, el("th", { scope: "row" }, part.name),
  el("td", {}, el("span", { class: "meter" }, el("span", { class: "fill", style: { width: `${Math.max(0, Math.min(100, 100 * part.value))}%` } })), ` ${number(part.value)}`)))));

function curve(one, name, said) {
  const lines = one.curves.filter((each) => each[name]?.length);
  if (!lines.length) return "";
  const high = name === "probabilities" ? 1 : Math.max(...lines.flatMap((each) => each[name]), 1e-9);
  const drawn = svg("svg", { viewBox: "0 0 300 90", preserveAspectRatio: "none", role: "img", class: "curve", "aria-label": `${said} over the epochs: ${lines.map((each) => `${each.name} from ${number(each[name][0])} to ${number(each[name].at(-1))}`).join("; ")}` });
  drawn.append(svg("path", { class: "half", d: "M4 45H296" }));
  lines.forEach((each, k) => {
    const step = 292 / Math.max(1, each[name].length - 1);
    const points = each[name].map((value, at) => `${(4 + at * step).toFixed(1)},${(86 - (value / high) * 82).toFixed(1)}`).join(" ");
    drawn.append(svg("polyline", { points, class: `line-${k % 6}` }, svg("title", {}, each.name)));
  });
  return el("figure", {}, drawn, el("figcaption", { class: "soft" }, `${said}, 0 to ${number(high)}, over ${many(lines[0].epochs.length, "epoch")}`));
}

const rights = (one) => el("table", { class: "rights" }, el("tbody", {}, ...one.curves.filter((each) => each.correct).map((each) => el("tr", {}, el("th", { scope: "row" }, each.name),
  el("td", { "aria-label": `right after ${each.correct.filter((yes) => yes > 0.5).length} of ${each.correct.length} epochs` }, each.correct.map((yes) => (yes > 0.5 ? "●" : "○")).join(""))))));

const others = (found, said) => (found.length ? el("div", { class: "others" }, ...found.map((each) => el("button", { type: "button", class: "other", disabled: each.row === null, title: each.id, on: { click: () => go(each.row) } },
  state.about.pictures && each.row !== null ? el("img", { src: `/picture/${each.row}`, alt: "" }) : "", el("span", {}, each.label ?? each.id), el("span", { class: "soft" }, said(each))))) : el("p", { class: "soft" }, "none"));

on("active", ({ row, open: wanted }) => { if (wanted || isOpen()) open(row); });
on("marked", (rows) => { if (isOpen() && shown && rows.includes(shown.row)) open(shown.row); });
