// The map in its frame: it gets numbers from the page and sends numbers back. It has no origin, so it reaches nothing.
"use strict";

const canvas = document.getElementById("plot");
const page = window.parent;
let plot = null;
let count = 0;
let xs = new Float32Array(0);
let ys = new Float32Array(0);
let colours = null;
let kind = "values";
let palette = ["#0b66b2"];
let shown = null;  // rows that pass the filter; null if all do
let drawing = Promise.resolve();
let hello = () => {};  // nothing to say before it is ready

const say = (message) => page.postMessage({ map: true, ...message }, "*");

function start() {
  const size = { width: canvas.clientWidth || 300, height: canvas.clientHeight || 300 };
  const events = {
    lasso: (polygon) => say({ type: "lasso", polygon }),
    over: (row) => say({ type: "over", row }),
    out: () => say({ type: "out" }),
    pick: (row) => say({ type: "pick", row }),
  };
  let webgl = true;
  try {
    plot = withWebGL(size, events);
  } catch (error) {
    webgl = false;
    plot = window.flatPlot(canvas, events);  // no WebGL: a plain canvas draws the same points
  }
  hello = () => say({ type: "ready", webgl });
  hello();
}

// Few points are large, many are small; a large screen has larger ones.
function looks(shown) {
  const times = canvas.clientWidth > 1800 ? 1.7 : 1;
  return { pointSize: (shown > 200000 ? 1.5 : shown > 20000 ? 3 : 6) * times, opacity: shown > 200000 ? 0.4 : 0.8 };
}

function withWebGL(size, events) {
  const probe = document.createElement("canvas").getContext("webgl");
  if (!probe) throw new Error("no WebGL");
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  const made = window.createScatterplot({
    canvas, ...size, pointSize: 4, opacity: 0.8, lassoColor: [0.9, 0.45, 0.1, 1], lassoOnLongPress: false,
    lassoInitiator: false, deselectOnDblClick: true, showReticle: false, pointSizeSelected: 6, pointOutlineWidth: 3,
    mouseMode: "panZoom", backgroundColor: [1, 1, 1, 0], cameraIsFixed: false,
  });
  let picked = 0;
  made.subscribe("lassoEnd", ({ coordinates }) => {
    clearTimeout(picked);
    if (coordinates && coordinates.length > 2) events.lasso(coordinates.map((one) => [one[0], one[1]]));
  });
  made.subscribe("select", ({ points }) => {  // comes before the end of a lasso, which takes it back
    clearTimeout(picked);
    if (points.length === 1) picked = setTimeout(() => events.pick(points[0]), 0);
  });
  made.subscribe("pointover", (row) => events.over(row));
  made.subscribe("pointout", () => events.out());
  return {
    draw: (x, y, z, shades, large) => {
      made.set({ pointColor: shades, colorBy: "valueA", ...looks(large) });
      return made.draw({ x, y, z }, { zDataType: "categorical", transition: false });
    },
    filter: (rows) => {
      made.set(looks(rows ? rows.length : count));
      return rows ? made.filter(rows, { preventEvent: true }) : made.unfilter({ preventEvent: true });
    },
    focus: (row) => (row >= 0 ? made.select([row], { preventEvent: true }) : made.deselect({ preventEvent: true })),
    mode: (word) => made.set({ mouseMode: word }),
    resize: (width, height) => made.set({ width, height }),
    theme: (dark) => made.set({ pointColorActive: dark ? "#ffffff" : "#000000", pointColorHover: dark ? "#ffffff" : "#000000" }),
    reset: () => made.reset({ preventEvent: true }),
  };
}

function redraw() {
  if (!plot || !count) return;
  const z = new Float32Array(count);
  for (let k = 0; k < count; k += 1) {
    const value = colours ? colours[k] : 0;
    const last = palette.length - 1;  // the colour of what has no value
    if (value === 65535) z[k] = last;
    else z[k] = kind === "categories" ? value % last : Math.min(last - 1, Math.floor((value / 65535) * last));
  }
  drawing = drawing.then(() => plot.draw(xs, ys, z, palette, count)).then(() => (shown ? plot.filter(shown) : null)).then(() => say({ type: "drawn" }))
    .catch((error) => say({ type: "failed", message: String(error.message || error).slice(0, 200) }));
}

const handlers = {
  hello: () => hello(),
  points: ({ points }) => {
    count = points.length / 2;
    xs = new Float32Array(count);
    ys = new Float32Array(count);
    for (let k = 0; k < count; k += 1) {
      xs[k] = points[2 * k] / 32767 - 1;
      ys[k] = points[2 * k + 1] / 32767 - 1;
    }
    redraw();
  },
  colours: (message) => {
    ({ colours, kind, palette } = message);
    redraw();
  },
  mask: ({ bits }) => {
    if (!plot) return;
    let rows = null;
    if (bits) {
      rows = [];
      for (let k = 0; k < count; k += 1) if (bits[k >> 3] & (128 >> (k & 7))) rows.push(k);
      if (rows.length === count) rows = null;
    }
    shown = rows;  // drawing again, in other colours, shows everything, so the filter is applied again then
    drawing = drawing.then(() => plot.filter(rows)).catch(() => {});
  },
  focus: ({ row }) => { drawing = drawing.then(() => plot && plot.focus(row)).catch(() => {}); },
  mode: ({ mode }) => plot && plot.mode(mode),
  theme: ({ dark }) => {
    document.documentElement.style.setProperty("color-scheme", dark ? "dark" : "light");  // else the frame is opaque
    if (plot) plot.theme(dark);
  },
  reset: () => plot && plot.reset(),
};

window.addEventListener("message", (event) => {
  if (event.source !== page || !event.data || typeof event.data.type !== "string") return;
  const handle = handlers[event.data.type];
  if (handle) handle(event.data);
});
new ResizeObserver(() => plot && plot.resize(canvas.parentElement.clientWidth, window.innerHeight)).observe(document.body);
start();
