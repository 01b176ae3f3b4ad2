/* report.html: which mode is shown, and for each mode one part of time that lanes and charts share. */
"use strict";

const data = JSON.parse(document.getElementById("run-data").textContent);
const first = JSON.parse(document.getElementById("first").textContent);
const timelines = {};
const LEAST_S = 0.001;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

class Timeline {
  constructor(place, { lanes, load }) {
    this.place = place;
    this.lanes = lanes;
    this.load = load;
    this.whole = [0, lanes.end];
    this.acted = [Math.max(0, lanes.acted[0] - 0.02 * lanes.end), lanes.end];
    this.range = [Math.max(0, lanes.shown[0] - 0.02 * lanes.end), lanes.shown[1]];
    this.charts = [];
    this.rangeLabel = element("span", { className: "range" });
    this.hint = element("p", { className: "said-now screen" }, "Point at a bar or tap it to read what it is. Drag to zoom.");
    this.hint.setAttribute("aria-live", "polite");
    place.append(this.tools(), this.hint);
    this.drawing = new Lanes(place, lanes, lanes.hidden, (text) => { this.hint.textContent = text; });
    this.select(this.drawing.svg);
    if (load.added) {
      this.charts.push(new Chart(place, "Operations per second, faults shaded", this, rates(load)));
      this.charts.push(new Chart(place, "Latency in ms, faults shaded", this, latencies(load)));
    }
    this.draw();
    new ResizeObserver(() => this.draw()).observe(place);
  }

  tools() {
    const button = (text, title, act) => {
      const made = element("button", { type: "button", title, onclick: act }, text);
      made.setAttribute("aria-label", title);
      return made;
    };
    return element("div", { className: "tools screen" },
      button("+", "zoom in", () => this.zoom(0.5)),
      button("−", "zoom out", () => this.zoom(2)),
      button("◀", "earlier", () => this.shift(-0.4)),
      button("▶", "later", () => this.shift(0.4)),
      button("steps", "from the first step on", () => this.show(...this.acted)),
      button("whole run", "the whole run", () => this.show(...this.whole)),
      this.rangeLabel);
  }

  zoom(factor) {
    const middle = (this.range[0] + this.range[1]) / 2;
    const half = ((this.range[1] - this.range[0]) / 2) * factor;
    this.show(middle - half, middle + half);
  }

  shift(share) {
    const by = (this.range[1] - this.range[0]) * share;
    const kept = Math.min(Math.max(by, this.whole[0] - this.range[0]), this.whole[1] - this.range[1]);
    this.show(this.range[0] + kept, this.range[1] + kept);
  }

  show(from, to) {
    const start = Math.max(this.whole[0], Math.min(from, to));
    this.range = [start, Math.max(Math.min(this.whole[1], Math.max(from, to)), start + LEAST_S)];
    this.draw();
  }

  get left() { return this.place.clientWidth < 560 ? 58 : 96; }

  draw() {
    const width = this.place.clientWidth;
    if (!width) return;
    this.rangeLabel.textContent = `${this.range[0].toFixed(3)} to ${this.range[1].toFixed(3)} s`;
    this.drawing.draw(...this.range, this.left, width);
    for (const chart of this.charts) chart.draw(...this.range, this.left, width);
  }

  /* Anew with other colours: charts are pixels. */
  recolour() {
    for (const chart of this.charts) chart.make();
    this.draw();
  }

  /* Dragging across the lanes zooms, a double click shows all. */
  select(svg) {
    let began = null;
    const box = shape("rect", { class: "selection", y: 0, height: 0 });
    const at = (event) => event.clientX - svg.getBoundingClientRect().left;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || at(event) < this.left) return;
      began = at(event);
      svg.append(box);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (began === null) return;
      const now = at(event);
      const place = { x: Math.min(began, now), width: Math.abs(now - began), height: svg.getAttribute("height") };
      for (const [key, value] of Object.entries(place)) box.setAttribute(key, value);
    });
    svg.addEventListener("pointerup", (event) => {
      if (began === null) return;
      const [one, other] = [Math.min(began, at(event)), Math.max(began, at(event))];
      began = null;
      box.remove();
      box.setAttribute("width", 0);
      const time = (x) => this.range[0] + ((x - this.left) / (svg.clientWidth - this.left)) * (this.range[1] - this.range[0]);
      if (other - one > 4) this.show(time(one), time(other));
    });
    svg.addEventListener("dblclick", () => this.show(...this.whole));
  }
}

const times = (load) => load.added.map((_, bin) => load.first + (bin + 0.5) * load.width);

function rates(load) {
  const rate = (counts) => counts.map((count) => count / load.width);
  const lines = [["added/s", "good", rate(load.added)], ["reads/s", "calm", rate(load.read)], ["not ok/s", "bad", rate(load.failed)]];
  return { x: times(load), lines: lines.filter(([, , values]) => values.some((value) => value > 0)), points: [], log: false, unit: "" };
}

function latencies(load) {
  const lines = [
    ["add median", "good", load.add_ms.p50], ["add 99 %", "doubt", load.add_ms.p99], ["add longest", "quiet", load.add_ms.most],
    ["read median", "calm", load.read_ms.p50], ["read 99 %", "fault", load.read_ms.p99],
  ];
  const has = ([, , values]) => values.some((value) => value !== null);
  return { x: times(load), lines: lines.filter(has), points: load.points, log: true, unit: " ms" };
}

class Chart {
  constructor(place, title, timeline, content) {
    this.timeline = timeline;
    this.content = content;
    this.box = element("div", { className: "chart" }, element("h4", {}, title));
    place.append(this.box);
    this.make();
  }

  make() {
    if (this.plot) this.plot.destroy();
    const { x, lines, log, unit } = this.content;
    const soft = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    const value = (plot, number) => (number === null || number === undefined ? "–" : +number.toPrecision(4) + unit);
    this.plot = new uPlot({
      width: Math.max(200, this.timeline.place.clientWidth),
      height: 210,
      padding: [8, 1, 0, 0],
      scales: { x: { time: false, auto: false }, y: log ? { distr: 3 } : { range: (plot, least, most) => [0, (most || 1) * 1.08] } },
      axes: [{ ...soft, values: (plot, ticks) => ticks.map((tick) => +tick.toFixed(4) + " s") }, { ...soft, size: () => this.timeline.left }],
      series: [
        { label: "at", value: (plot, at) => (at === null || at === undefined ? "–" : at.toFixed(3) + " s") },
        ...lines.map(([label, name]) => ({ label, stroke: colour(name), width: 1.5, value, spanGaps: false, points: { size: 4 } })),
      ],
      cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: this.timeline.place.dataset.mode } },
      hooks: {
        drawClear: [(plot) => this.shade(plot)],
        draw: [(plot) => this.dots(plot)],
        setSelect: [(plot) => this.selected(plot)],
      },
    }, [x, ...lines.map(([, , values]) => values)], this.box);
    this.plot.over.addEventListener("dblclick", () => this.timeline.show(...this.timeline.whole));
  }

  draw(from, to, left, width) {
    if (this.plot.width !== width) this.plot.setSize({ width, height: 210 });
    this.plot.setScale("x", { min: from, max: to });
  }

  selected(plot) {
    if (plot.select.width < 4) return;
    const [from, to] = [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")];
    plot.setSelect({ width: 0, height: 0 }, false);
    this.timeline.show(from, to);
  }

  shade(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = colour("fault-soft");
    ctx.globalAlpha = 0.6;
    for (const [began, ended] of this.timeline.lanes.faults) {
      if (began === null) continue;
      const one = Math.max(bbox.left, plot.valToPos(began, "x", true));
      const other = Math.min(bbox.left + bbox.width, plot.valToPos(ended === null ? this.timeline.lanes.end : ended, "x", true));
      if (other > bbox.left && one < bbox.left + bbox.width) ctx.fillRect(one, bbox.top, Math.max(1, other - one), bbox.height);
    }
    ctx.restore();
  }

  dots(plot) {
    const { ctx, bbox } = plot;
    const [from, to] = this.timeline.range;
    const shown = this.content.points.filter(([at]) => at >= from && at <= to);
    const paint = [colour("good"), colour("calm"), colour("bad")];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const size = 1.6 * devicePixelRatio;
    for (const [at, took, read, bad] of shown) {
      const x = plot.valToPos(at, "x", true);
      const y = took === null ? bbox.top + 2 * size : plot.valToPos(Math.max(took, 1e-6), "y", true);
      ctx.globalAlpha = bad ? 0.9 : 0.35;
      ctx.fillStyle = paint[bad ? 2 : read];
      ctx.fillRect(x - size, y - size, 2 * size, 2 * size);
    }
    ctx.restore();
  }
}

function chart(mode) {
  const place = document.querySelector(`.timeline[data-mode="${CSS.escape(mode)}"]`);
  if (place && data[mode] && !timelines[mode]) timelines[mode] = new Timeline(place, data[mode]);
}

function show(mode) {
  for (const section of document.querySelectorAll("section.mode")) section.classList.toggle("shown", section.dataset.mode === mode);
  for (const card of document.querySelectorAll(".card")) card.setAttribute("aria-current", card.dataset.mode === mode);
  chart(mode);
}

const named = () => decodeURIComponent(location.hash.replace(/^#mode-/, ""));
document.documentElement.classList.add("scripted");
for (const card of document.querySelectorAll(".card")) {
  card.addEventListener("click", (event) => {
    event.preventDefault();
    history.replaceState(null, "", card.hash);
    show(card.dataset.mode);
  });
}
addEventListener("hashchange", () => named() in data && show(named()));
show(named() in data ? named() : first);

const redraw = () => Object.values(timelines).forEach((timeline) => timeline.recolour());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  for (const section of document.querySelectorAll("section.mode")) section.classList.add("shown");
  for (const finding of document.querySelectorAll(".finding")) finding.open = true;
  Object.keys(data).forEach(chart);
  redraw();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  show(document.querySelector('.card[aria-current="true"]').dataset.mode);
  redraw();
});
