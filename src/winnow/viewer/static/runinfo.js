// The run itself: study and plan figures, the ledger, issues in words, provenance.
import { el, byId } from "./dom.js";
import { get } from "./api.js";
import { on, tell } from "./state.js";

let found = null;
export async function drawRun() {
  try {
    found = found || await get("/api/run");
    const dark = document.documentElement.dataset.theme === "dark" ? "1" : "0";
    const table = (rows) => el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...Object.keys(rows[0]).map((name) => el("th", {}, name)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...Object.values(row).map((cell) => el("td", {}, cell === null ? "" : typeof cell === "number" ? Number(cell.toPrecision(5)) : cell)))))));
    const section = (title, ...parts) => el("section", {}, el("h2", {}, title), ...parts);
    byId("run").replaceChildren(
      ...found.figures.map((one) => section(one.said, el("img", { class: "figure", src: `/figure/${one.name}?dark=${dark}`, alt: one.said }))),
      found.study.length ? section("Study", table(found.study), ...found.verdicts.map((said) => el("p", {}, said))) : "",
      found.ledger.length ? section("Ledger", ...found.ledger.map((row) => el("p", {}, el("strong", {}, row.arm), `: ${row.said || "no cost was recorded"}`))) : "",
      found.plan ? section("Plan", el("pre", {}, found.plan)) : "",
      found.issues ? section("Issues", el("pre", {}, found.issues)) : "",
      ...found.explanations.map((said) => section("How examples teach each other", el("pre", {}, said))),
      Object.keys(found.certificates).length ? section("Certificates", ...Object.entries(found.certificates).map(([name, one]) => el("details", {}, el("summary", {}, name), el("pre", {}, JSON.stringify(one, null, 1))))) : "",
      section("Steps", el("p", { class: "soft" }, `${found.seconds} in all`), found.steps.length ? table(found.steps) : ""),
      section("Settings", el("pre", {}, JSON.stringify(found.settings, null, 1))),
      section("Provenance", el("pre", {}, JSON.stringify(found.provenance, null, 1))));
  } catch (error) { tell("error", error); }
}
on("theme", () => { if (found && !byId("run").hidden) drawRun(); });
