// The side: search, sort, filters, score ranges, marks.
import { el, byId, choice, number, later } from "./dom.js";
import { state, on, setFilter, usualOrder } from "./state.js";
import { undo } from "./marks.js";
import { whatIf, compare } from "./whatif.js";

const sorted = (key) => (key.startsWith("member:") ? `in ${key.slice(7)}` : key);

export function drawSide() {
  const { about } = state;
  const search = el("input", { type: "search", id: "search", placeholder: about.kind === "text" ? "id, class or text" : "id or class", value: state.filter.search || "", on: { input: later((event) => setFilter({ search: event.target.value }), 250) } });
  byId("side").replaceChildren(
    el("label", { class: "field" }, el("span", {}, "search"), search),
    choice("sort by", about.sorts.map((key) => [key, sorted(key)]), state.filter.sort, (sort) => { byId("descending").checked = usualOrder(sort); setFilter({ sort, descending: usualOrder(sort) }); }, { id: "sort" }),
    el("label", { class: "check" }, el("input", { type: "checkbox", id: "descending", checked: Boolean(state.filter.descending), on: { change: (event) => setFilter({ descending: event.target.checked }) } }), "largest first"),
    fold("Filter", true, ...filters(about)),
    about.scores.length ? fold("Score range", false, ...about.scores.map(range)) : "",
    whatIfFold(),
    fold("Marks", true, el("p", { id: "marks-said" }), el("div", { class: "buttons" }, el("button", { type: "button", id: "undo", on: { click: undo } }, "Undo", el("kbd", {}, "u"))),
      choice("show", [["", "all"], ["any", "marked"], ["none", "not marked"], ["wrong", "wrong"], ["corrected", "corrected"], ["right", "right"], ["drop", "dropped"], ["keep", "always kept"]], state.filter.mark || "", (mark) => setFilter({ mark }), { id: "filter-mark" }),
      el("p", { class: "soft" }, "Saved at once in ", el("code", {}, "marks.parquet"), " of the run, for ", el("code", {}, "winnow prune --marks"), " and ", el("code", {}, "winnow check --marks"), ".")),
  );
  showCounts({ marks: about.marks, undo: about.undo });
}

const narrow = matchMedia("(max-width: 720px)");
const folds = new Map();  // which are open, so that drawing again changes nothing
const fold = (title, open, ...children) => el("details", { open: folds.get(title) ?? (open && !narrow.matches), on: { toggle: (event) => folds.set(title, event.target.open) } }, el("summary", {}, title), ...children);
function whatIfFold() {
  const made = fold("What if", false, whatIf());
  made.addEventListener("toggle", () => { if (made.open) compare(); });
  return made;
}

function filters(about) {
  const classes = (id, text, name) => choice(text, [["", "all"], ...about.classes.map((one, k) => [String(k), about.counts.length && name === "classes" ? `${one} (${about.counts[k]})` : one])],
    String(state.filter[name]?.[0] ?? ""), (value) => setFilter({ [name]: value === "" ? [] : [Number(value)] }), { id });
  const made = [];
  if (about.task === "classification") made.push(classes("filter-class", "class", "classes"));
  if (about.predicted) {
    made.push(classes("filter-predicted", "networks say", "predicted"));
    made.push(el("label", { class: "check" }, el("input", { type: "checkbox", id: "disagree", checked: Boolean(state.filter.disagree), on: { change: (event) => setFilter({ disagree: event.target.checked }) } }), "label and networks differ"));
  }
  const members = Object.entries(about.members).flatMap(([name, count]) => [[name, `in ${name} (${count})`], [`!${name}`, `not in ${name} (${about.n - count})`]]);
  if (members.length) made.push(choice("membership", [["", "all"], ...members], state.filter.member || "", (member) => setFilter({ member }), { id: "filter-member" }));
  const issues = Object.entries(about.issues).map(([kind, count]) => [kind, `${kind} (${count})`]);
  if (issues.length) made.push(choice("issue", [["", "all"], ["any", "any issue"], ...issues], state.filter.issue || "", (issue) => setFilter({ issue }), { id: "filter-issue" }));
  if (about.observed < about.n) made.push(choice("split", [["", "all"], ["run", `in the run (${about.observed})`], ["other", `not in the run (${about.n - about.observed})`]], state.filter.split || "", (split) => setFilter({ split }), { id: "filter-split" }));
  return made.length ? made : [el("p", { class: "soft" }, "Nothing to filter by.")];
}

function range(score) {
  const step = (score.high - score.low) / 200 || 1;
  const [first, last] = state.filter.ranges?.[score.name] || [null, null];
  const said = el("output", {}, `${number(first ?? score.low)} to ${number(last ?? score.high)}`);
  const change = later(() => {
    const low = Number(from.value);
    const high = Number(to.value);
    said.textContent = `${number(low)} to ${number(high)}`;
    const ends = [low <= score.low + step / 2 ? null : low, high >= score.high - step / 2 ? null : high];
    const ranges = { ...state.filter.ranges };
    if (ends[0] === null && ends[1] === null) delete ranges[score.name]; else ranges[score.name] = ends;
    setFilter({ ranges });
  }, 150);
  const slider = (value, name) => el("input", { type: "range", min: score.low, max: score.high, step, value, "aria-label": `${name} ${score.name}`, on: { input: change } });
  const from = slider(score.low, "smallest");
  const to = slider(score.high, "largest");
  from.value = first ?? score.low;
  to.value = last ?? score.high;
  return el("fieldset", {}, el("legend", {}, score.name), from, to, said);
}

function showCounts({ marks, undo: steps }) {
  const words = Object.entries(marks).filter(([, count]) => count).map(([word, count]) => `${count} ${word}`);
  if (byId("marks-said")) byId("marks-said").textContent = words.length ? words.join(", ") : "no marks yet";
  if (byId("undo")) byId("undo").disabled = !steps;
}
on("counts", showCounts);
on("cleared", () => drawSide());
on("subsets", () => { folds.set("What if", true); drawSide(); });
