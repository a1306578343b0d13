// Marks: one action per key, saved at once, with undo.
import { post, canWrite } from "./api.js";
import { state, tell } from "./state.js";
import { chosenRows, rowAt, rowNumbered } from "./grid.js";
import { shownExample } from "./panel.js";

const changes = {
  wrong: ([verdict, correction]) => ({ verdict: verdict === "confirmed" && !correction ? "" : "confirmed", correction: "" }),
  right: ([verdict]) => ({ verdict: verdict === "refused" ? "" : "refused" }),
  drop: ([, , decision]) => ({ choice: decision === "drop" ? "" : "drop" }),
  keep: ([, , decision]) => ({ choice: decision === "keep" ? "" : "keep" }),
  clear: () => ({ verdict: "", correction: "", choice: "" }),
};
const words = { wrong: "label is wrong", right: "label is right", drop: "drop", keep: "keep always", clear: "no marks", correct: "corrected", suggestion: "corrected" };

// What is known of the example that keys act on: the panel's if it shows it, otherwise the grid's.
function subject() {
  const open = shownExample();
  if (open && open.row === state.activeRow) return { mark: [open.mark.verdict, open.mark.correction, open.mark.choice], suggestion: open.suggestion };
  const here = rowAt(state.active);
  return here && here.row === state.activeRow ? here : { mark: ["", "", ""], suggestion: "" };
}

function suggested(rows) {
  const ideas = rows.map((row) => (rows.length === 1 ? subject().suggestion : rowNumbered(row)?.suggestion) || "");
  return { rows: rows.filter((_, k) => ideas[k]), change: { correction: ideas.filter(Boolean) } };
}

export async function act(word, correction) {
  let rows = chosenRows();
  if (!rows.length) { tell("say", "Choose an example first."); return; }
  if (!canWrite) { tell("error", new Error("Marks cannot be saved: open the address that winnow printed, which has the token.")); return; }
  let change;
  if (word === "correct") change = correction ? { correction } : { correction: "", verdict: "" };
  else if (word === "suggestion") {
    ({ rows, change } = suggested(rows));
    if (!rows.length) { tell("say", "There is no suggested label; choose one in the panel (c)."); return; }
  } else change = changes[word](subject().mark);
  try {
    const found = await post("/api/mark", { rows, ...change });
    tell("counts", found);
    tell("marked", rows);
    const to = [].concat(change.correction || []);
    const taken = Object.values(change).every((one) => !one.length);
    tell("say", `Saved: ${taken ? "mark taken back" : words[word]}${to.length === 1 ? ` to ${to[0]}` : ""}${rows.length > 1 ? `, ${rows.length} examples` : ""}.`);
  } catch (error) { tell("error", error); }
}

export async function undo() {
  if (!canWrite) return;
  try {
    const found = await post("/api/undo", {});
    tell("counts", found);
    tell("marked", found.rows);
    tell("say", found.rows.length ? "Undone." : "Nothing to undo.");
  } catch (error) { tell("error", error); }
}
