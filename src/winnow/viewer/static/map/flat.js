// The map without WebGL: points on a plain canvas, with hover, click and lasso, but without zoom.
"use strict";

window.flatPlot = function flatPlot(canvas, events) {
  const pen = canvas.getContext("2d");
  let state = null;
  let shown = null;
  let focused = -1;
  let corners = null;
  let lasso = false;

  const place = (k) => [(state.x[k] + 1) / 2 * canvas.width, (1 - state.y[k]) / 2 * canvas.height];
  const colour = (k) => state.shades[state.z[k]];
  const visible = (k) => !shown || shown.has(k);

  function paint() {
    canvas.width = canvas.clientWidth;
    canvas.height = canvas.clientHeight;
    if (!state) return;
    const side = state.x.length > 20000 ? 1 : 3;
    for (let k = 0; k < state.x.length; k += 1) {
      if (!visible(k)) continue;
      const [x, y] = place(k);
      pen.fillStyle = colour(k);
      pen.fillRect(x - side / 2, y - side / 2, side, side);
    }
    if (focused >= 0) {
      const [x, y] = place(focused);
      pen.strokeStyle = "#d33";
      pen.lineWidth = 2;
      pen.strokeRect(x - 6, y - 6, 12, 12);
    }
    if (corners) {
      pen.strokeStyle = "#d72";
      pen.beginPath();
      for (const [x, y] of corners) pen.lineTo(x, y);
      pen.stroke();
    }
  }

  function nearest(event) {
    let best = -1;
    let least = 100;
    for (let k = 0; state && k < state.x.length; k += 1) {
      if (!visible(k)) continue;
      const [x, y] = place(k);
      const gap = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (gap < least) [best, least] = [k, gap];
    }
    return best;
  }

  canvas.addEventListener("pointerdown", (event) => { if (lasso || event.shiftKey) corners = [[event.offsetX, event.offsetY]]; });
  canvas.addEventListener("pointermove", (event) => {
    if (corners) {
      corners.push([event.offsetX, event.offsetY]);
      paint();
      return;
    }
    const row = nearest(event);
    if (row >= 0) events.over(row); else events.out();
  });
  canvas.addEventListener("pointerup", (event) => {
    const area = corners;
    corners = null;
    if (area && area.length > 4) {
      events.lasso(area.map(([x, y]) => [x / canvas.width * 2 - 1, 1 - y / canvas.height * 2]));
    } else if (nearest(event) >= 0) events.pick(nearest(event));
    paint();
  });

  return {
    draw: (x, y, z, shades) => { state = { x, y, z, shades }; paint(); },
    filter: (rows) => { shown = rows ? new Set(rows) : null; paint(); },
    focus: (row) => { focused = row; paint(); },
    mode: (word) => { lasso = word === "lasso"; },
    resize: paint,
    theme: () => {},
    reset: () => {},
  };
};
