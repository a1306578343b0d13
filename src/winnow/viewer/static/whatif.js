// What if: another fraction, method or balance, answered from stored orders; other methods are computed by the library.
import { el, choice, later, byId, many } from "./dom.js";
import { get, post, canWrite } from "./api.js";
import { state, tell, setFilter } from "./state.js";

const sides = { a: null, b: null };
let busy = 0;

function starting() {
  const { about } = state;
  const keep = about.keep || 0.5;
  const balance = about.task === "classification" ? about.balance ?? null : null;
  const fixed = about.methods.find((one) => one.name === "subset:this run") || about.methods.find((one) => one.fixed);
  const moving = about.methods.find((one) => !one.fixed);
  sides.a = { method: (fixed || moving).name, keep, balance };
  sides.b = { method: moving.name, keep, balance };
}

export function whatIf() {
  if (!sides.a) starting();
  const { about } = state;
  return el("div", { id: "what-if" },
    side("a", "A"), side("b", "B"),
    about.exact ? el("p", { class: "soft" }, about.exact) : "",
    el("div", { id: "compared", "aria-live": "polite" }),
    about.recompute.length ? recompute() : el("p", { class: "soft" }, "Other methods need the signals of winnow prune or winnow observe."));
}

function side(name, title) {
  const own = sides[name];
  const fixed = state.about.methods.find((one) => one.name === own.method)?.fixed;
  const said = el("output", { id: `keep-said-${name}` }, own.keep.toFixed(3));
  const slider = el("input", { type: "range", id: `keep-${name}`, min: 0.005, max: 1, step: 0.005, "aria-label": `fraction of ${title}`, disabled: Boolean(fixed), on: { input: (event) => { own.keep = Number(event.target.value); said.textContent = own.keep.toFixed(3); compare(); } } });
  slider.value = own.keep;
  return el("fieldset", {}, el("legend", {}, title),
    choice("method", state.about.methods.map((one) => [one.name, one.said]), own.method, (method) => { own.method = method; redraw(); compare(); }, { id: `method-${name}` }),
    fixed ? el("p", { class: "soft" }, many(fixed, "example")) : el("label", { class: "field" }, el("span", {}, "fraction "), slider, said),
    !fixed && state.about.task === "classification" ? choice("balance", [["", "none"], ["0.25", "0.25"], ["0.5", "0.5"], ["0.75", "0.75"], ["1", "1, as equal as possible"]], own.balance === null ? "" : String(own.balance),
      (value) => { own.balance = value === "" ? null : Number(value); compare(); }, { id: `balance-${name}` }) : "");
}

const redraw = () => byId("what-if").replaceWith(whatIf());

export const compare = later(async () => {
  const mine = (busy += 1);
  const asked = { a: { ...sides.a }, b: { ...sides.b } };
  try {
    const found = await get("/api/what-if", { a: JSON.stringify(asked.a), b: JSON.stringify(asked.b) });
    if (mine !== busy) return;
    state.compare = asked;
    draw(found);
    tell("compared", found);
    if (state.filter.show) tell("filter");
  } catch (error) { tell("error", error); }
}, 60);

function draw(found) {
  const chip = (show, text) => el("button", { type: "button", id: `show-${show}`, "aria-pressed": String(state.filter.show === show), on: { click: () => { setFilter({ show: state.filter.show === show ? "" : show }); draw(found); } } }, text);
  const { per_class: per, forecast } = found;
  byId("compared").replaceChildren(
    el("div", { class: "buttons" }, chip("a", `A ${found.a}`), chip("b", `B ${found.b}`), chip("both", `both ${found.both}`), chip("leaves", `leaves: only A ${found.only_a}`), chip("enters", `enters: only B ${found.only_b}`)),
    forecast ? el("p", { id: "forecast" }, expected(forecast)) : el("p", { class: "soft" }, "No forecast: winnow plan makes one."),
    per ? el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["class", "A", "B", "leave", "enter"].map((word) => el("th", {}, word)))),
      el("tbody", {}, ...state.about.classes.slice(0, 100).map((name, k) => el("tr", {}, el("th", { scope: "row" }, name), ...["a", "b", "only_a", "only_b"].map((key) => el("td", {}, per[key][k]))))))) : "");
}

function expected(one) {
  const part = (value) => `${(100 * value).toFixed(1)} %`;
  const ends = one.low === null ? "" : ` (${part(one.low)} to ${part(one.high)})`;
  return one.kind === "forecast" ? `Forecast for B: ${part(one.value)}${ends}, by the plan (${one.policy}).` : `Measured nearest to B, ${one.policy}: ${part(one.value)}${ends}.`;
}

function recompute() {
  const { about } = state;
  let method = about.recompute[0].name;
  const said = el("p", { id: "jobs", class: "soft", "aria-live": "polite" });
  const start = async () => {
    if (!canWrite) { tell("error", new Error("Recomputing needs the token: open the address that winnow printed.")); return; }
    try {
      const found = await post("/api/recompute", { method, keep: sides.b.keep, balance: sides.b.balance });
      watch(found.name, said);
    } catch (error) { tell("error", error); }
  };
  return el("fieldset", {}, el("legend", {}, "Another method"), el("p", { class: "soft" }, "Its answers are not nested, so the library computes them anew, at the fraction and balance of B."),
    choice("method", about.recompute.map((one) => [one.name, one.name]), method, (value) => { method = value; }, { id: "recompute-method" }),
    el("button", { type: "button", id: "recompute", on: { click: start } }, "Recompute"), said);
}

async function watch(name, said) {
  for (;;) {
    const job = (await get("/api/jobs")).find((one) => one.name === name);
    said.textContent = job ? `${job.name}: ${job.state}${job.message ? `, ${job.message}` : ""}` : "";
    if (!job || job.state !== "running") {
      if (job?.state === "done") {
        state.about = await get("/api/about");
        sides.b = { ...sides.b, method: `subset:${name}` };
        tell("subsets");
        compare();
      }
      return;
    }
    await new Promise((done) => { setTimeout(done, 500); });
  }
}
