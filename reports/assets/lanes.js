/* Lanes of bars and marks over time, as SVG that is drawn anew for each part of time that is shown. */
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const LANE = 20;
const HEAD = 20;

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/* Bars that overlap go to different rows: [[bar, row]], number of rows. */
function packed(bars, end) {
  const free = [];
  const placed = bars.map((bar) => {
    let row = free.findIndex((until) => until <= bar[0]);
    if (row < 0) row = free.length;
    free[row] = bar[1] === null ? end : bar[1];
    return [bar, row];
  });
  return [placed, free.length];
}

class Lanes {
  constructor(place, tree, hidden, tell) {
    this.end = tree.end;
    this.tell = tell;
    this.groups = [];
    for (const [title, bars] of [["steps", tree.steps], ["faults", tree.faults]]) {
      if (!bars.length) continue;
      const [placed, rows] = packed(bars, this.end);
      const lanes = Array.from({ length: rows }, () => ({ name: "", bars: [], marks: [] }));
      for (const [bar, row] of placed) lanes[row].bars.push(bar);
      this.groups.push({ title, lanes, more: hidden[title] });
    }
    this.groups.push({ title: "servers and clients", lanes: tree.servers, more: 0 });
    if (tree.ledgers.length) this.groups.push({ title: "ledgers", lanes: tree.ledgers, more: hidden.ledgers });
    this.svg = shape("svg", { class: "lanes", role: "img", "aria-label": "steps, faults, servers and ledgers over time" });
    this.svg.addEventListener("click", (event) => this.explain(event));
    this.svg.addEventListener("pointermove", (event) => event.pointerType === "mouse" && this.explain(event));
    place.append(this.svg);
  }

  explain(event) {
    const text = event.target.dataset && event.target.dataset.title;
    if (text) this.tell(text);
  }

  /* Draw the part from..to over the pixels left..width. */
  draw(from, to, left, width) {
    const x = (at) => left + ((at - from) / (to - from)) * (width - left);
    const drawn = [];
    let y = 0;
    for (const group of this.groups) {
      const more = group.more ? ` (and ${group.more.toLocaleString("en")} more, not drawn)` : "";
      drawn.push(shape("text", { x: 0, y: y + 14, class: "group" }, group.title + more));
      y += HEAD;
      for (const lane of group.lanes) {
        this.lane(drawn, lane, x, y, from, to, left, width);
        y += LANE;
      }
      y += 6;
    }
    this.svg.setAttribute("height", y);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${y}`);
    this.svg.replaceChildren(...drawn);
  }

  lane(drawn, lane, x, y, from, to, left, width) {
    drawn.push(shape("line", { x1: left, x2: width, y1: y + LANE - 1, y2: y + LANE - 1, class: "rule" }));
    const most = Math.max(4, Math.floor(left / 6.4));
    const name = lane.name.length > most ? lane.name.slice(0, most - 1) + "…" : lane.name;
    drawn.push(shape("text", { x: 0, y: y + 14, class: lane.flagged ? "odd-name" : "" }, name));
    for (const [began, ended, kind, label, detail] of lane.bars) {
      const until = ended === null ? this.end : ended;
      if (began === null || until < from || began > to) continue;
      const first = Math.max(left, x(began));
      const last = Math.min(width - 1, x(until));
      const long = Math.max(2, last - first);
      const title = `${lane.name ? lane.name + ": " : ""}${detail} (${span(began, ended)})`;
      const bar = shape("rect", { x: first, y: y + 3, width: long, height: LANE - 6, rx: 2, class: kind });
      bar.dataset.title = title;
      bar.append(shape("title", {}, title));
      drawn.push(bar);
      if (label && long > 26) {
        const fits = Math.floor((long - 6) / 6);
        const short = label.length > fits ? label.slice(0, Math.max(1, fits - 1)) + "…" : label;
        drawn.push(shape("text", { x: first + 4, y: y + 14, "pointer-events": "none" }, short));
      }
    }
    for (const [at, , kind, , detail] of lane.marks) {
      if (at === null || at < from || at > to) continue;
      const where = x(at);
      const title = `${lane.name}: ${detail} (${at.toFixed(4)} s)`;
      const mark = kind.includes("death")
        ? shape("path", { d: `M${where - 5} ${y + 5}l10 10m0 -10l-10 10`, class: kind })
        : shape("path", { d: `M${where} ${y + 4}l5 6l-5 6l-5 -6z`, class: kind });
      mark.dataset.title = title;
      mark.append(shape("title", {}, title));
      drawn.push(mark);
    }
  }
}

function span(began, ended) {
  return ended === null ? `from ${began.toFixed(4)} s on` : `${began.toFixed(4)} to ${ended.toFixed(4)} s`;
}
