// The grid: only what is in sight exists as elements; pages of rows are fetched when they come near.
import { el, byId, number, many } from "./dom.js";
import { get } from "./api.js";
import { state, on, tell, asked, filtered } from "./state.js";

const PAGE = 60;
const TALLEST = 8_000_000;  // pixels; browsers stop at about 16 to 33 million
const grid = byId("grid");
const tall = byId("tall");
let total = 0;
let score = "";
let pages = new Map();
let version = 0;
let shape = { columns: 1, width: 1, height: 1 };
const cells = new Map();  // place -> element

export const viewSize = () => total;
export const rowAt = (place) => pages.get(Math.floor(place / PAGE))?.[place % PAGE];
export const rowNumbered = (row) => [...pages.values()].flat().find((one) => one.row === row);

function measure() {
  const pictures = state.about.pictures;
  const wide = grid.clientWidth - 4;
  const huge = window.innerWidth >= 2200;
  const least = pictures ? (wide < 520 ? 112 : huge ? 196 : 136) : (state.about.kind === "text" ? 320 : 420) * (huge ? 1.3 : 1);
  const columns = Math.max(1, Math.floor(wide / least));
  shape = { columns, width: wide / columns, height: pictures ? (huge ? 216 : 160) : huge ? 116 : 94 };
  const needed = Math.ceil(total / shape.columns) * shape.height;
  shape.scale = Math.max(1, needed / TALLEST);
  tall.style.setProperty("height", `${needed / shape.scale}px`);
}

function draw() {
  if (!state.about) return;
  const top = grid.scrollTop * shape.scale;
  const first = Math.max(0, Math.floor(top / shape.height) - 1) * shape.columns;
  const last = Math.min(total, (Math.ceil((top + grid.clientHeight) / shape.height) + 1) * shape.columns);
  for (const [place, cell] of cells) if (place < first || place >= last) { cell.remove(); cells.delete(place); }
  for (let place = first; place < last; place += 1) {
    const row = rowAt(place);
    let cell = cells.get(place);
    if (!cell) {
      cell = el("div", { class: "cell", role: "option", id: `cell-${place}` });
      cells.set(place, cell);
      tall.append(cell);
    }
    if (cell.said !== row || !row) fill(cell, place, row);
    const line = Math.floor(place / shape.columns);
    const y = line * shape.height - top + grid.scrollTop;
    cell.style.setProperty("transform", `translate(${(place % shape.columns) * shape.width}px, ${y}px)`);
    cell.style.setProperty("width", `${shape.width - 6}px`);
    cell.style.setProperty("height", `${shape.height - 6}px`);
    cell.classList.toggle("active", place === state.active);
    const chosen = Boolean(row && state.selected.has(row.row));
    cell.classList.toggle("selected", chosen);
    cell.setAttribute("aria-selected", String(chosen || place === state.active));
  }
  for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) fetchPage(page);
  grid.setAttribute("aria-activedescendant", cells.has(state.active) ? `cell-${state.active}` : "");
}

function fill(cell, place, row) {
  cell.said = row;
  cell.replaceChildren();
  cell.setAttribute("aria-posinset", String(place + 1));
  cell.setAttribute("aria-setsize", String(total));
  if (!row) { cell.append(el("span", { class: "soft" }, "...")); return; }
  cell.setAttribute("aria-label", spoken(row));
  const picture = state.about.pictures && el("img", { src: `/picture/${row.row}`, alt: "", loading: "lazy", draggable: "false" });
  const text = row.text !== undefined && el("span", { class: "text" }, row.text);
  const table = row.cells && el("span", { class: "text" }, row.cells.map((one, k) => `${state.about.columns[k] ?? k}: ${one}`).join(" · "));
  const label = el("span", { class: "label" }, row.label ?? row.id, row.predicted && row.predicted !== row.label ? el("span", { class: "soft", title: "the networks say" }, ` ≠ ${row.predicted}`) : "");
  const value = row.score === null ? null : el("span", { class: "soft value", title: score }, number(row.score));
  cell.append(picture || text || table || el("span", {}, row.id), label, el("span", { class: "badges" }, ...badges(row), el("span", { class: "grow" }), value || ""));
}

export function badges(row) {
  const [verdict, correction, decision] = row.mark;
  const made = [];
  if (correction) made.push(el("span", { class: "badge mark" }, `→ ${correction}`));
  else if (verdict === "confirmed") made.push(el("span", { class: "badge mark" }, "✗ wrong"));
  if (verdict === "refused") made.push(el("span", { class: "badge mark" }, "✓ right"));
  if (decision) made.push(el("span", { class: "badge mark" }, decision === "drop" ? "– drop" : "+ keep"));
  for (const kind of row.issues) made.push(el("span", { class: "badge issue" }, `${kind}?`));
  if (row.members.includes("this run")) made.push(el("span", { class: "badge" }, "kept"));
  return made;
}

function spoken(row) {
  const parts = [row.label ?? "", row.text ?? "", `id ${row.id}`];
  if (row.predicted && row.predicted !== row.label) parts.push(`networks say ${row.predicted}`);
  parts.push(...row.issues.map((kind) => `${kind} issue`), ...row.members, ...row.mark.filter(Boolean));
  return parts.filter(Boolean).join(", ");
}

const waiting = new Set();
async function fetchPage(page) {
  if (pages.has(page) || waiting.has(page)) return;
  waiting.add(page);
  const mine = version;
  try {
    const found = await get("/api/rows", { ...asked(), start: page * PAGE, count: PAGE });
    if (mine !== version) return;
    pages.set(page, found.rows);
    if (pages.size > 60) pages.delete([...pages.keys()].find((one) => Math.abs(one - page) > 20));
    ({ score } = found);
    if (found.total !== total) { total = found.total; measure(); }
    tell("rows", found);
    draw();
  } catch (error) {
    tell("error", error);
  } finally {
    waiting.delete(page);
  }
}

export async function reload({ keepPlace = false } = {}) {
  version += 1;
  const mine = version;
  grid.setAttribute("aria-busy", "true");  // until the rows of this view are there
  pages = new Map();
  waiting.clear();
  for (const cell of cells.values()) cell.remove();
  cells.clear();
  if (!keepPlace) {
    total = 0;
    grid.scrollTop = 0;
    state.active = -1;
    state.selected.clear();
    if (byId("panel").hidden) state.activeRow = -1;  // keys never act on what is not in sight
  }
  await fetchPage(keepPlace ? Math.floor(Math.max(0, state.active) / PAGE) : 0);
  draw();
  if (mine === version) grid.setAttribute("aria-busy", "false");
}

async function refresh(rows) {  // after a mark: the same view, other badges
  if (state.filter.mark) {  // what was marked may leave the view, and the next example takes its place
    const place = state.active;
    await reload({ keepPlace: true });
    if (place >= 0 && total) activate(Math.min(place, total - 1));
    return;
  }
  const mine = version;
  for (const [page, held] of [...pages]) {
    if (!held.some((one) => rows.includes(one.row))) continue;
    try {
      const found = await get("/api/rows", { ...asked(), start: page * PAGE, count: PAGE });
      if (mine !== version) return;
      pages.set(page, found.rows);
    } catch (error) { tell("error", error); }
  }
  draw();
}

export function activate(place, { extend = false, open = false } = {}) {
  if (!total) return;
  const to = Math.max(0, Math.min(total - 1, place));
  const row = rowAt(to);
  if (extend && row) state.selected.add(row.row);
  else if (!extend) state.selected.clear();
  state.active = to;
  const line = Math.floor(to / shape.columns) * shape.height;
  const top = grid.scrollTop * shape.scale;
  if (line < top) grid.scrollTop = line / shape.scale;
  else if (line + shape.height > top + grid.clientHeight) grid.scrollTop = (line + shape.height - grid.clientHeight) / shape.scale;
  draw();
  if (row) {
    state.activeRow = row.row;
    tell("active", { row: row.row, open });
  } else fetchPage(Math.floor(to / PAGE)).then(() => { if (state.active === to && rowAt(to)) { state.activeRow = rowAt(to).row; tell("active", { row: rowAt(to).row, open }); } });
}

export const chosenRows = () => (state.selected.size ? [...state.selected] : state.activeRow >= 0 ? [state.activeRow] : []);

grid.addEventListener("scroll", () => requestAnimationFrame(draw));
new ResizeObserver(() => { if (state.about) { measure(); draw(); } }).observe(grid);
grid.addEventListener("click", (event) => {
  const cell = event.target.closest(".cell");
  if (!cell) return;
  const place = Number(cell.id.slice(5));
  if (event.shiftKey && state.active >= 0) {
    const [low, high] = [Math.min(place, state.active), Math.max(place, state.active)];
    for (let k = low; k <= high; k += 1) if (rowAt(k)) state.selected.add(rowAt(k).row);
    activate(place, { extend: true });
  } else if (event.ctrlKey || event.metaKey) {
    if (rowAt(state.active)) state.selected.add(rowAt(state.active).row);
    activate(place, { extend: true });
  }
  else activate(place, { open: true });
});
grid.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor(grid.clientHeight / shape.height)) * shape.columns;
  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: shape.columns, ArrowUp: -shape.columns, PageDown: page, PageUp: -page };
  const move = moves[event.key];
  if (move) {
    if (event.shiftKey && rowAt(state.active)) state.selected.add(rowAt(state.active).row);
    activate(state.active < 0 ? 0 : state.active + move, { extend: event.shiftKey });
  }
  else if (event.key === "Home") activate(0);
  else if (event.key === "End") activate(total - 1);
  else if (event.key === "Enter" || event.key === " ") activate(Math.max(0, state.active), { open: true });
  else return;
  event.preventDefault();
});
on("filter", () => reload());
on("marked", refresh);
on("active", ({ row, alone }) => {
  if (!alone) return;
  state.activeRow = row;  // opened from the map or the panel: it may be anywhere in the view, or not in it
  state.selected.clear();
  state.active = [...cells].find(([, cell]) => cell.said?.row === row)?.[0] ?? -1;
  draw();
});
on("rows", () => {
  const parts = [many(total, "example")];
  const clear = filtered() && el("button", { type: "button", id: "clear", on: { click: () => { state.filter = { sort: state.filter.sort, descending: state.filter.descending }; tell("cleared"); tell("filter"); } } }, "Clear filters");
  byId("grid-bar").replaceChildren(el("span", { id: "count" }, parts.join(", ")), clear || "", el("span", { class: "grow" }),
    total ? el("span", { class: "exports" }, el("span", { class: "soft" }, "Export "), ...EXPORTS.map(([format, text, title]) => el("a", { id: `export-${format}`, href: link(format), download: "", title }, text))) : "");
});
const EXPORTS = [["subset", "Subset", "ids and weights, for wn.Subset.load"], ["csv", "CSV", "id, label, marks and everything that is known"], ["parquet", "Parquet", "the same as CSV, with types"]];
const link = (format) => `/api/export?${new URLSearchParams({ ...asked(), format })}`;
