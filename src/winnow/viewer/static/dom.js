// Elements without markup: text is always text, whatever the data hold.
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (name === "style") for (const [rule, one] of Object.entries(value)) made.style.setProperty(rule, one);
    else if (name === "class") made.className = value;
    else if (name === "value" || name === "checked" || name === "disabled") made[name] = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((one) => one !== null && one !== undefined && one !== false).map((one) => (one instanceof Node ? one : String(one))));
  return made;
}

export function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, String(value));
  made.append(...children.map((one) => (one instanceof Node ? one : String(one))));
  return made;
}

export const byId = (id) => document.getElementById(id);
export const option = (value, text, chosen) => {
  const made = el("option", { value }, text);
  made.selected = Boolean(chosen);
  return made;
};
export const choice = (label, options, chosen, act, more = {}) => el("label", { class: "field" }, el("span", {}, label),
  el("select", { ...more, on: { change: (event) => act(event.target.value) } }, ...options.map(([value, text]) => option(value, text, value === chosen))));
export const number = (value) => (value === null || value === undefined ? "" : Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : String(Number(value.toPrecision(4))));
export const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
export function later(act, wait = 120) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}
