// What is shown: one filter, one comparison, one active example. Parts of the page subscribe to changes.
const listeners = new Map();
export const state = {
  about: null,
  filter: { sort: "position" },
  compare: null,   // { a, b } of what-if
  active: -1,      // place in the view
  activeRow: -1,   // row of the run
  selected: new Set(),  // rows
  colour: "",
  points: null,
};

export const on = (event, act) => listeners.set(event, [...(listeners.get(event) || []), act]);
export const tell = (event, value) => (listeners.get(event) || []).forEach((act) => act(value));

export function setFilter(change) {
  const made = { ...state.filter, ...change };
  for (const [name, value] of Object.entries(made)) {
    const empty = value === "" || value === false || value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length);
    if (empty && name !== "sort") delete made[name];
  }
  state.filter = made;
  tell("filter");
}

export function asked(without = []) {
  const filter = Object.fromEntries(Object.entries(state.filter).filter(([name]) => !without.includes(name)));
  const compare = state.compare ? { a: JSON.stringify(state.compare.a), b: JSON.stringify(state.compare.b) } : {};
  return { filter: JSON.stringify(filter), ...compare };
}
export const usualOrder = (sort) => !["position", "class", "prediction"].includes(sort);  // whether the largest come first
export const filtered = () => Object.keys(state.filter).some((name) => !["sort", "descending"].includes(name));
