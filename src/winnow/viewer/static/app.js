// The start of the page: what the run is, the parts, the keys.
import { el, byId, many } from "./dom.js";
import { get, canWrite, remember, recall } from "./api.js";
import { state, on, tell, usualOrder } from "./state.js";
import { reload, activate } from "./grid.js";
import { drawSide } from "./side.js";
import { drawMapBar, aroundActive } from "./mapview.js";
import { drawRun } from "./runinfo.js";
import { act, undo } from "./marks.js";
import { close, isOpen } from "./panel.js";

const KEYS = [["arrows, Page, Home, End", "move in the grid; with Shift, select several"], ["Enter", "open the example"], ["Escape", "back to the grid, then close the panel"], ["w", "the label is wrong"], ["r", "the label is right"],
  ["s", "correct to the suggested label"], ["c", "choose the corrected label"], ["d", "drop"], ["k", "keep always"], ["x", "take marks of the example back"], ["u or Ctrl+Z", "undo"], ["n", "only what is near on the map"], ["/", "search"], ["?", "this list"]];

function say(text) { byId("said").textContent = text; }
on("say", say);
on("error", (error) => {
  if (error.name === "AbortError") return;
  byId("notice").textContent = error.message;
  byId("notice").hidden = false;
  setTimeout(() => { byId("notice").hidden = true; }, 9000);
});
on("redraw-side", () => drawSide());

function theme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  tell("theme", name === "dark");
}
const stored = recall("localStorage", "winnow theme");
theme(stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => {
  const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remember("localStorage", "winnow theme", name);
  theme(name);
});

function page(name) {
  for (const one of ["examples", "run"]) {
    byId(one).hidden = one !== name;
    byId(`tab-${one}`).setAttribute("aria-pressed", String(one === name));
  }
  if (name === "run") drawRun();
}
byId("tab-examples").addEventListener("click", () => page("examples"));
byId("tab-run").addEventListener("click", () => page("run"));
const help = byId("help");
byId("help-open").addEventListener("click", () => help.showModal());
help.append(el("h2", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([key, said]) => [el("dt", {}, key), el("dd", {}, said)])), el("button", { type: "button", on: { click: () => help.close() } }, "Close"));

const keys = { w: () => act("wrong"), r: () => act("right"), s: () => act("suggestion"), d: () => act("drop"), k: () => act("keep"), x: () => act("clear"), u: undo, n: aroundActive,
  c: () => byId("correct")?.focus(), "/": () => byId("search").focus(), "?": () => help.showModal(), Escape: () => { if (isOpen()) close(); else byId("grid").focus(); } };
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (typing) {
    if (event.key === "Escape") byId("grid").focus();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "z") { event.preventDefault(); undo(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (isOpen() && ["ArrowRight", "ArrowLeft"].includes(event.key) && !event.target.closest("#grid") && !event.target.matches("input")) {
    activate(state.active + (event.key === "ArrowRight" ? 1 : -1));
    return;
  }
  const go = keys[event.key];
  if (go) { event.preventDefault(); go(); }
});

async function start() {
  try {
    state.about = await get("/api/about");
  } catch (error) { tell("error", error); return; }
  const { about } = state;
  document.title = `${about.folder} · winnow view`;
  byId("title").textContent = about.folder;
  byId("facts").textContent = `${about.name}: ${many(about.n, "example")}${about.classes.length ? `, ${about.classes.length} classes` : ""}; made by ${about.command}`;
  const wrong = about.sorts.find((key) => key === "probability that it is wrong");
  const sort = wrong || about.scores[0]?.name || "position";
  state.filter = { sort, descending: usualOrder(sort), ...(about.observed < about.n ? { split: "run" } : {}) };
  if (about.changed) { byId("notice").textContent = about.changed; byId("notice").hidden = false; }
  if (!canWrite) { byId("notice").textContent = "Opened without its token: you can look, but marks are not saved. Use the address that winnow printed."; byId("notice").hidden = false; }
  drawSide();
  drawMapBar();
  tell("start");
  reload();
  byId("grid").focus({ preventScroll: true });
}
start();
