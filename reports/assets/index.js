/* index.html: filters rows, and compares the two runs that are chosen. */
"use strict";

const { runs, pool } = JSON.parse(document.getElementById("index-data").textContent);
const rows = [...document.querySelectorAll("tr[data-run]")];
const fields = Object.fromEntries(["search", "verdict", "stated", "mode", "release"].map((name) => [name, document.getElementById(name)]));
const stated = (met) => (met === null ? "not compared" : met ? "as expected" : "NOT as expected");
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const texts = runs.map((run) => [run.scenario, run.path, run.seed, run.releases, ...run.modes.flatMap((one) => [one.name, one.verdict, one.headline])].join(" ").toLowerCase());

function fits(run, number) {
  const words = fields.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = { verdict: fields.verdict.value, stated: fields.stated.value, mode: fields.mode.value };
  const some = run.modes.some((one) =>
    (!wanted.verdict || one.verdict === wanted.verdict) && (!wanted.mode || one.name === wanted.mode) && (!wanted.stated || stated(one.met) === wanted.stated));
  return some && (!fields.release.value || run.releases === fields.release.value) && words.every((word) => texts[number].includes(word));
}

function filter() {
  let shown = 0;
  for (const row of rows) {
    const number = Number(row.dataset.run);
    row.hidden = !fits(runs[number], number);
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("shown").textContent = `${shown} of ${rows.length} shown; choose two to compare them`;
}

/* What a comparison looks at in one mode: name -> text, in order. */
function facts(mode) {
  const judged = [["verdict", `${mode.verdict}: ${mode.headline}`], ["expectation", stated(mode.met)], ...Object.entries(mode.properties)];
  return new Map([...judged, ...mode.facts.map((number) => pool[number])]);
}

/* Rows [name, one, other] that differ; what differs alike in every mode stands there once. */
function differences(one, other) {
  const rows = [["scenario", one.scenario, other.scenario], ["seed", one.seed, other.seed], ["releases", one.releases, other.releases]];
  const mode = (run, name) => run.modes.find((each) => each.name === name);
  const names = [...new Set([...one.modes, ...other.modes].map((each) => each.name))];
  const both = names.filter((name) => mode(one, name) && mode(other, name));
  for (const name of names.filter((each) => !both.includes(each))) {
    const outcome = (run) => (mode(run, name) ? `${mode(run, name).verdict}: ${mode(run, name).headline}` : "did not run");
    rows.push([`mode ${name}`, outcome(one), outcome(other)]);
  }
  const found = new Map();
  for (const name of both) {
    const [left, right] = [facts(mode(one, name)), facts(mode(other, name))];
    for (const fact of new Set([...left.keys(), ...right.keys()])) {
      const pair = [left.get(fact) ?? "–", right.get(fact) ?? "–"];
      found.set(fact, [...(found.get(fact) ?? []), [name, ...pair]]);
    }
  }
  for (const [fact, said] of found) {
    const alike = said.length === both.length && said.every(([, left, right]) => left === said[0][1] && right === said[0][2]);
    if (alike) rows.push([fact, said[0][1], said[0][2]]);
    else rows.push(...said.map(([name, left, right]) => [`${name}: ${fact}`, left, right]));
  }
  return rows.filter(([, left, right]) => left !== right);
}

function compare() {
  const chosen = rows.filter((row) => row.querySelector(".choose").checked).map((row) => runs[Number(row.dataset.run)]);
  for (const row of rows) {
    const box = row.querySelector(".choose");
    box.disabled = chosen.length > 1 && !box.checked;
  }
  const place = document.getElementById("comparison");
  place.hidden = chosen.length !== 2;
  if (place.hidden) return;
  const line = ([name, left, right]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, left), element("td", {}, right));
  const page = (run) => (run.report ? element("a", { href: `${run.path}/report.html` }, run.path) : run.path);
  const head = element("thead", {}, element("tr", {}, element("th", {}, ""), ...chosen.map((run) => element("th", {}, page(run)))));
  const found = differences(...chosen);
  const table = element("table", {}, head, element("tbody", {}, ...found.map(line)));
  const summary = found.length ? `${found.length} differences; all else is the same.` : "Nothing differs.";
  const close = element("button", { type: "button", onclick: clear }, "close");
  place.replaceChildren(element("h2", {}, "Comparison"), element("p", { className: "muted" }, summary), element("div", { className: "wide" }, table), close);
  place.scrollIntoView({ block: "nearest" });
}

function clear() {
  for (const row of rows) row.querySelector(".choose").checked = false;
  compare();
}

for (const field of Object.values(fields)) field.addEventListener("input", filter);
document.querySelector("form").addEventListener("reset", () => setTimeout(filter));
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
for (const row of rows) row.querySelector(".choose").addEventListener("change", compare);
filter();
