// The page's side of the map: it sends numbers to the frame, and turns what comes back into filters and hovers.
import { el, byId, choice } from "./dom.js";
import { bytes, get } from "./api.js";
import { state, on, tell, setFilter, asked } from "./state.js";

const frame = byId("map");
const LIGHT = {
  categories: ["#0b66b2", "#c4501b", "#16805d", "#9a4f96", "#a87410", "#2f9cc9", "#d1495b", "#5b7f1c", "#6a5acd", "#7a5c3e", "#00857c", "#b0307a"],
  values: ["#3b1f77", "#51127c", "#822681", "#b63679", "#e65164", "#f0764f", "#e0983a"], two: ["#868e98", "#c4501b"], missing: "#9aa0a6",
};
const DARK = {
  categories: ["#5aaef2", "#f08a57", "#4cc29a", "#d293cf", "#dcae4c", "#a8e0f7", "#ff8fa0", "#a8cf5b", "#a79bff", "#c8a27e", "#3fc9be", "#f07ab8"],
  values: ["#7a63d6", "#9a5ccc", "#bd5dbb", "#dc62a0", "#f27482", "#fba176", "#fde0a0"], two: ["#78818c", "#f08a57"], missing: "#5d656e",
};
const isDark = () => document.documentElement.dataset.theme === "dark";
let ready = false;
let webgl = true;
let mode = "panZoom";

const send = (message, moved = []) => { if (ready) frame.contentWindow.postMessage(message, "*", moved); };

export function drawMapBar() {
  const { about } = state;
  if (!about.map) { byId("map-box").hidden = true; return; }
  const by = [...(about.task === "classification" ? [["class", "class"]] : []), ...(about.predicted ? [["prediction", "networks say"]] : []),
    ...Object.keys(about.members).map((name) => [`member:${name}`, `in ${name}`]), ...(Object.keys(about.issues).length ? [["issue", "issue"]] : []),
    ...(about.observed < about.n ? [["split", "split"]] : []), ...about.scores.map((score) => [score.name, score.name])];
  state.colour = state.colour || by[0]?.[0] || "";
  byId("map-bar").replaceChildren(
    by.length ? choice("colour", by, state.colour, (value) => { state.colour = value; colour(); }, { id: "colour" }) : "",
    el("button", { type: "button", id: "lasso", "aria-pressed": "false", title: "drag around points; also with shift", on: { click: (event) => setMode(mode === "lasso" ? "panZoom" : "lasso", event.currentTarget) } }, "Lasso"),
    el("button", { type: "button", id: "reset-map", on: { click: () => { send({ type: "reset" }); setFilter({ lasso: [] }); } } }, "Whole map"),
    el("button", { type: "button", id: "hide-map", "aria-expanded": "true", "aria-controls": "map-area", on: { click: hide } }, "Hide map"),
    el("span", { class: "soft", id: "map-said" }, about.map));
}

function hide(event) {
  const hidden = document.body.classList.toggle("without-map");
  event.currentTarget.setAttribute("aria-expanded", String(!hidden));
  event.currentTarget.textContent = hidden ? "Show map" : "Hide map";
}

function setMode(word, button) {
  mode = word;
  button.setAttribute("aria-pressed", String(word === "lasso"));
  send({ type: "mode", mode: word });
}

async function colour() {
  if (!state.colour) return;
  try {
    const { buffer, kind } = await bytes("/api/colours", { by: state.colour });
    const values = new Uint16Array(buffer);
    const two = ["issue", "split"].includes(state.colour) || state.colour.startsWith("member:");
    const palette = isDark() ? DARK : LIGHT;
    const shades = [...(kind === "values" ? palette.values : two ? palette.two : palette.categories), palette.missing];
    send({ type: "colours", colours: values, kind, palette: shades });
    legend(kind, shades, two);
  } catch (error) { tell("error", error); }
}

function legend(kind, shades, two) {
  const dot = (shade) => el("span", { class: "dot", style: { "background-color": shade } });
  const names = two ? { issue: ["no issue", "issue"], split: ["not in the run", "in the run"] }[state.colour] || ["not in it", "in it"] : state.about.classes;
  const parts = kind === "values" ? ["lowest ", ...shades.slice(0, -1).map(dot), " highest, by rank; ", dot(shades.at(-1)), " no value"]
    : names.slice(0, 24).map((name, k) => el("button", { type: "button", class: "key", title: "show only these", on: { click: () => only(k) } }, dot(shades[k % (shades.length - 1)]), name));
  byId("legend").replaceChildren(...parts, names.length > 24 && kind !== "values" ? ` and ${names.length - 24} more` : "");
}

function only(k) {
  const by = state.colour;
  if (by === "class") setFilter({ classes: [k] });
  else if (by === "prediction") setFilter({ predicted: [k] });
  else if (by === "issue") setFilter({ issue: k ? "any" : "" });
  else if (by === "split") setFilter({ split: k ? "run" : "other" });
  else setFilter({ member: (k ? "" : "!") + by.slice(7) });
  tell("redraw-side");
}

async function mask() {
  const names = Object.keys(state.filter).filter((name) => !["sort", "descending", "lasso"].includes(name));
  if (!names.length) { send({ type: "mask", bits: null }); return; }
  try {
    const { buffer } = await bytes("/api/mask", asked(["lasso", "sort", "descending"]));
    send({ type: "mask", bits: new Uint8Array(buffer) });
  } catch (error) { tell("error", error); }
}

export const aroundActive = () => {  // a square around the active example: the lasso of the keyboard
  if (!state.points || state.activeRow < 0) return;
  const x = state.points[2 * state.activeRow] / 32767 - 1;
  const y = state.points[2 * state.activeRow + 1] / 32767 - 1;
  const r = 0.1;
  setFilter({ lasso: [[x - r, y - r], [x + r, y - r], [x + r, y + r], [x - r, y + r]] });
};

function thinned(polygon) {
  const step = Math.max(1, Math.ceil(polygon.length / 80));
  return polygon.filter((_, k) => k % step === 0).map(([x, y]) => [Number(x.toFixed(4)), Number(y.toFixed(4))]);
}

const hover = byId("hover");
let over = -1;
async function show(row) {
  over = row;
  const one = await get("/api/brief", { row }).catch(() => null);
  if (over !== row || !one) return;
  const text = one.text ?? (one.cells ? one.cells.join(" · ") : "");
  hover.replaceChildren(state.about.pictures ? el("img", { src: `/picture/${row}`, alt: "" }) : "", el("strong", {}, one.label ?? one.id), text ? el("span", {}, text.slice(0, 240)) : "");
  hover.hidden = false;
}

const handlers = {
  ready: async (message) => {
    if (ready) return;
    ready = true;
    ({ webgl } = message);
    if (!webgl) byId("map-said").textContent = `${state.about.map}. No WebGL here: drawn without zoom.`;
    send({ type: "theme", dark: isDark() });
    const { buffer } = await bytes("/api/points");
    state.points = new Uint16Array(buffer);
    await colour();
    send({ type: "points", points: state.points });
    mask();
  },
  lasso: ({ polygon }) => setFilter({ lasso: thinned(polygon) }),
  over: ({ row }) => show(row),
  out: () => { over = -1; hover.hidden = true; },
  pick: ({ row }) => tell("active", { row, open: true, alone: true, fromMap: true }),
  drawn: () => { byId("map-area").dataset.drawn = "yes"; },
  failed: ({ message }) => tell("error", new Error(`The map cannot be drawn: ${message}`)),
};
const early = [];
const receive = (message) => { const handle = handlers[message.type]; if (handle) handle(message); };
window.addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || !event.data?.map) return;
  if (state.about) receive(event.data); else early.push(event.data);
});
frame.contentWindow?.postMessage({ type: "hello" }, "*");  // it may have been ready before this script could listen
on("start", () => { if (state.about.map) early.forEach(receive); });
on("filter", mask);
on("active", ({ row, fromMap }) => { if (!fromMap) send({ type: "focus", row }); });
on("theme", (dark) => { send({ type: "theme", dark }); if (ready) colour(); });
