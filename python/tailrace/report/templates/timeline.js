// The timeline of a run: density of all calls, and calls one by one where they are known and wide enough.
"use strict";
(async () => {
  const root = document.getElementById("timeline");
  if (!root) return;
  const canvas = root.querySelector("canvas"), status = root.querySelector(".status"), detail = root.querySelector(".detail");
  const sums = root.querySelector("tbody"), rankField = root.querySelector("[name=rows]"), fileField = root.querySelector("[name=file]");
  const text = document.getElementById("timeline-data").textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  let data;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    data = await new Response(stream).arrayBuffer();
  } catch (error) {
    status.textContent = "This browser cannot unpack the timeline: Chrome 80, Firefox 113, Safari 16.4 and later can.";
    return;
  }
  const newline = new Uint8Array(data).indexOf(10);
  const run = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 0, newline)));
  const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };
  const columns = {};
  let place = newline + 1;
  for (const [name, type, length] of run.arrays) {
    columns[name] = new TYPES[type](data, place, length);
    place += Math.ceil(columns[name].byteLength / 8) * 8;
  }
  const rows = run.rows.length, lanes = run.lanes.length, count = columns.begin.length;
  const tick = run.duration / 4294967295, LEFT = 60, AXIS = 20;
  const view = { from: 0, to: run.duration };
  let lanesShown = run.lanes.map(() => true), rowsShown = run.rows.map((_, row) => row), fileWanted = null, colours = [], drawn = [];
  const seconds = (value) => value === 0 ? "0\u00a0s" : value >= 1 ? `${value.toPrecision(4)}\u00a0s` : value >= 1e-3 ? `${(value * 1e3).toPrecision(4)}\u00a0ms`
    : `${(value * 1e6).toPrecision(4)}\u00a0µs`;
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
  const size = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
    return `${unit ? value.toFixed(1) : value}\u00a0${units[unit]}`;
  };

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    colours = run.meanings.map((name) => style.getPropertyValue(`--${name}`).trim());
    colours.ink = style.getPropertyValue("--soft").trim();
    colours.line = style.getPropertyValue("--line").trim();
  }

  function draw() {
    const chosen = [];
    lanesShown.forEach((shown, lane) => { if (shown) chosen.push(lane); });
    const laneHeight = Math.max(1, Math.min(14, Math.floor(560 / Math.max(1, rowsShown.length * chosen.length))));
    const rowHeight = laneHeight * chosen.length + (laneHeight > 2 ? 2 : 0), height = rowHeight * rowsShown.length;
    const width = canvas.clientWidth, dots = window.devicePixelRatio || 1;
    canvas.style.height = `${height + AXIS}px`;
    canvas.width = Math.round(width * dots);
    canvas.height = Math.round((height + AXIS) * dots);
    const pen = canvas.getContext("2d");
    pen.scale(dots, dots);
    const scale = (width - LEFT) / (view.to - view.from), x = (time) => LEFT + (time - view.from) * scale;
    const rowTop = new Int32Array(rows).fill(-1), laneTop = new Int32Array(lanes).fill(-1);
    rowsShown.forEach((row, index) => { rowTop[row] = index * rowHeight; });
    chosen.forEach((lane, index) => { laneTop[lane] = index * laneHeight; });
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, width - LEFT, height);
    pen.clip();
    const bin = run.duration / run.bins;
    if (!fileWanted) {
      const first = Math.max(0, Math.floor(view.from / bin)), last = Math.min(run.bins, Math.ceil(view.to / bin));
      for (const row of rowsShown) for (const lane of chosen) {
        const base = (row * lanes + lane) * run.bins, y = rowTop[row] + laneTop[lane];
        for (let at = first; at < last; ++at) {
          const share = columns.shares[base + at];
          if (!share) continue;
          pen.globalAlpha = 0.12 + 0.5 * share / 255;
          pen.fillStyle = colours[columns.kinds[base + at]];
          pen.fillRect(x(at * bin), y, bin * scale + 0.3, laneHeight);
        }
      }
    }
    pen.globalAlpha = 1;
    drawn = [];
    const totals = run.meanings.map(() => ({ calls: 0, seconds: 0, bytes: 0 }));
    for (let call = 0; call < count; ++call) {
      const from = columns.begin[call] * tick, to = from + columns.seconds[call];
      if (from > view.to) break;
      if (to < view.from) continue;
      const row = rowTop[columns.row[call]], lane = laneTop[columns.lane[call]];
      if (row < 0 || lane < 0 || (fileWanted && !fileWanted[columns.file[call]])) continue;
      const total = totals[columns.kind[call]];
      ++total.calls;
      total.seconds += columns.seconds[call];
      total.bytes += columns.bytes[call];
      const wide = columns.seconds[call] * scale;
      if (wide < 0.7 && !fileWanted) continue;
      pen.fillStyle = colours[columns.kind[call]];
      pen.fillRect(x(from), row + lane, Math.max(wide, 1), Math.max(1, laneHeight - 1));
      drawn.push(call);
    }
    pen.restore();
    pen.fillStyle = colours.ink;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    let free = -20;
    rowsShown.forEach((row, index) => {
      const y = index * rowHeight + Math.min(rowHeight, 11);
      if (y - free >= 12) { pen.fillText(run.rows[row], LEFT - 5, y); free = y; }
    });
    pen.fillStyle = colours.line;
    pen.fillRect(LEFT, height, width - LEFT, 1);
    pen.fillStyle = colours.ink;
    for (const part of [0, 0.5, 1]) {
      pen.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
      pen.fillText(seconds(view.from + part * (view.to - view.from)), LEFT + part * (width - LEFT), height + 14);
    }
    tell(totals);
  }

  function tell(totals) {
    const known = totals.reduce((sum, total) => sum + total.calls, 0);
    let how = known === count && count === run.every ? "all of them can be drawn one by one" : "those known one by one; the rest is density";
    if (fileWanted) {
      let every = 0;
      fileWanted.forEach((wanted, file) => { if (wanted) every += columns.file_calls[file]; });
      how = `of files with this text; they have ${grouped(every)} calls in the run, and the others are not drawn`;
    }
    status.textContent = `${seconds(view.from)} to ${seconds(view.to)}, ${rowsShown.length} of ${rows} rows. `
      + `${grouped(known)} calls in view (${how}); ${grouped(drawn.length)} are drawn one by one.`;
    sums.replaceChildren(...totals.map((total, meaning) => {
      const line = document.createElement("tr");
      const cells = [run.meanings[meaning], grouped(total.calls), total.seconds.toFixed(4), size(total.bytes)];
      line.append(...cells.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
      line.firstChild.className = "left";
      return line;
    }));
    Object.assign(root.dataset, { from: view.from, to: view.to, calls: known, drawn: drawn.length, rows: rowsShown.length });
  }

  function show(from, to) {
    const least = run.duration / 4e6;
    const span = Math.min(run.duration, Math.max(least, to - from));
    view.from = Math.max(0, Math.min(run.duration - span, from));
    view.to = view.from + span;
    draw();
  }
  function zoom(factor, centre = (view.from + view.to) / 2) {
    show(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
  }
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return view.from + (event.clientX - box.left - LEFT) / (box.width - LEFT) * (view.to - view.from);
  };

  canvas.addEventListener("wheel", (event) => {
    const out = event.deltaY > 0;
    if ((document.activeElement !== canvas && !event.ctrlKey) || (out && view.to - view.from >= run.duration)) return;
    event.preventDefault();
    zoom(out ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => {
    pressed = { x: event.clientX, time: timeAt(event), from: view.from, to: view.to, pan: event.shiftKey };
    canvas.setPointerCapture(event.pointerId);
    canvas.focus();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (pressed && pressed.pan) {
      const moved = (event.clientX - pressed.x) / (canvas.clientWidth - LEFT) * (pressed.to - pressed.from);
      show(pressed.from - moved, pressed.to - moved);
    } else if (pressed) {
      draw();
      const pen = canvas.getContext("2d"), box = canvas.getBoundingClientRect();
      pen.globalAlpha = 0.2;
      pen.fillStyle = colours.ink;
      pen.fillRect(pressed.x - box.left, 0, event.clientX - pressed.x, canvas.clientHeight - AXIS);
      pen.globalAlpha = 1;
    } else name(event);
  });
  canvas.addEventListener("pointerup", (event) => {
    const held = pressed;
    pressed = null;
    if (!held || held.pan) return;
    const to = timeAt(event);
    if (Math.abs(event.clientX - held.x) > 4) show(Math.min(held.time, to), Math.max(held.time, to));
    else name(event);
  });
  canvas.addEventListener("dblclick", () => show(0, run.duration));
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from;
    const actions = {
      ArrowLeft: () => show(view.from - span / 4, view.to - span / 4), ArrowRight: () => show(view.from + span / 4, view.to + span / 4),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => show(0, run.duration), 0: () => show(0, run.duration),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  });

  function name(event) {
    const box = canvas.getBoundingClientRect(), time = timeAt(event), slack = 2 * (view.to - view.from) / box.width;
    const chosen = lanesShown.flatMap((shown, lane) => shown ? [lane] : []);
    const laneHeight = Math.max(1, Math.min(14, Math.floor(560 / Math.max(1, rowsShown.length * chosen.length))));
    const rowHeight = laneHeight * chosen.length + (laneHeight > 2 ? 2 : 0), y = event.clientY - box.top;
    const row = rowsShown[Math.floor(y / rowHeight)], lane = chosen[Math.floor(y % rowHeight / laneHeight)];
    const call = drawn.findLast((each) => {
      const from = columns.begin[each] * tick;
      return columns.row[each] === row && columns.lane[each] === lane && from - slack <= time && time <= from + columns.seconds[each] + slack;
    });
    if (call === undefined) return;
    const moved = columns.bytes[call] ? `, ${size(columns.bytes[call])}` : "";
    detail.textContent = `${run.calls[columns.call[call]]} of ${run.what} ${run.rows[columns.row[call]]}: ${seconds(columns.seconds[call])}`
      + ` at ${seconds(columns.begin[call] * tick)}${moved} ${run.files[columns.file[call]]}`;
  }

  function rowsOf(wanted) {
    const ranges = wanted.split(",").map((part) => part.trim().match(/^(\d+)(?:-(\d+))?$/)).filter(Boolean);
    if (!ranges.length) return run.rows.map((_, row) => row);
    const found = [];
    run.rows.forEach((number, row) => {
      if (ranges.some(([, low, high]) => number >= Number(low) && number <= Number(high ?? low))) found.push(row);
    });
    return found;
  }
  rankField.addEventListener("input", () => { rowsShown = rowsOf(rankField.value); draw(); });
  fileField.addEventListener("input", () => {
    const wanted = fileField.value.trim();
    fileWanted = wanted ? run.files.map((file) => file.includes(wanted)) : null;
    draw();
  });
  const boxes = root.querySelector(".lanes");
  run.lanes.forEach((lane, number) => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", checked: true, value: lane });
    box.addEventListener("change", () => { lanesShown[number] = box.checked; draw(); });
    label.append(box, ` ${lane}`);
    boxes.append(label);
  });
  const names = { in: () => zoom(0.5), out: () => zoom(2), left: () => show(view.from - (view.to - view.from) / 4, view.to - (view.to - view.from) / 4),
    right: () => show(view.from + (view.to - view.from) / 4, view.to + (view.to - view.from) / 4), all: () => show(0, run.duration) };
  for (const button of root.querySelectorAll("button")) button.addEventListener("click", names[button.dataset.action]);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  let width = 0;
  new ResizeObserver(() => { if (canvas.clientWidth !== width) { width = canvas.clientWidth; draw(); } }).observe(canvas);
  readColours();
  width = canvas.clientWidth;
  draw();
  root.dataset.ready = "yes";
})();
