// Two columns of words, and lines from each to those it looks at; one colour a head.

import { headColour, shade } from "./colours.js";
import { make, onceAFrame, sharpen } from "./dom.js";
import { strongest } from "./weights.js";

const ROW = 22, GAP = 240, NARROWEST = 72;

export class Flow {
  constructor(view) {
    this.view = view;
    this.canvas = make("canvas", { "aria-hidden": "true", className: "ch-lines" });
    this.element = make("div", { className: "ch-flow" });
    this.draw = onceAFrame(() => this.paint());
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("pointerover", (event) => this.point(event.target));
    this.element.addEventListener("focusin", (event) => this.point(event.target));
    this.element.addEventListener("keydown", (event) => this.walk(event));
    this.element.addEventListener("pointerleave", () => {
      if (!this.element.contains(document.activeElement)) this.view.point(null);
    });
  }

  show(map, layer) {
    this.map = map;
    this.layer = layer;
    this.edges = null;
    this.words = { query: this.list("query", map.queries), key: this.list("key", map.keys) };
    const height = ROW * Math.max(map.queries.length, map.keys.length);
    const inner = make("div", { className: "ch-columns" }, this.words.query, this.canvas, this.words.key);
    inner.style.height = `${height}px`;
    this.element.replaceChildren(inner);
    this.shaded = [];
    this.draw();
  }

  list(side, words) {
    const name = side === "query" ? "Words that look" : "Words that are looked at";
    const list = make("div", { className: `ch-words ch-${side}`, role: "listbox", "aria-label": name });
    words.forEach((word, place) => {
      const option = make("div", { role: "option", "aria-selected": "false", tabIndex: place ? -1 : 0, dir: "auto", textContent: word });
      option.dataset.side = side;
      option.dataset.place = place;
      list.append(option);
    });
    return list;
  }

  point(target) {
    if (target.dataset && target.dataset.place) this.view.point({ side: target.dataset.side, place: Number(target.dataset.place) });
  }

  walk(event) {
    const { side, place } = event.target.dataset;
    if (place === undefined) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const across = event.key === "ArrowLeft" ? "query" : event.key === "ArrowRight" ? "key" : null;
    if (!across && !(event.key in steps)) return;
    event.preventDefault();
    const words = this.words[across || side].children;
    const wanted = Number(place) + (across ? 0 : steps[event.key]);
    const next = words[Math.max(0, Math.min(words.length - 1, wanted))];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus({ preventScroll: false });
  }

  // Every head's k strongest edges: [head, query, key, weight].
  strongestEdges() {
    const { heads, edges } = this.view.state;
    const key = `${heads.join()}/${edges}`;
    if (!this.edges || this.edges.key !== key) {
      const found = [], row = new Float32Array(this.layer.keys);
      for (const head of heads)
        for (let query = 0; query < this.layer.queries; query++) {
          this.layer.row([head], query, row);
          for (const place of strongest(row, edges)) found.push([head, query, place, row[place]]);
        }
      this.edges = { key, found };
    }
    return this.edges.found;
  }

  focusEdges(focus) {
    const { heads, edges } = this.view.state, found = [];
    for (const head of heads) {
      const numbers = focus.side === "query" ? this.layer.row([head], focus.place) : this.layer.column([head], focus.place);
      for (const other of strongest(numbers, edges)) {
        const [query, key] = focus.side === "query" ? [focus.place, other] : [other, focus.place];
        found.push([head, query, key, numbers[other]]);
      }
    }
    return found;
  }

  paint() {
    if (!this.layer) return;
    const height = Math.min(this.element.clientHeight || 1, ROW * Math.max(this.layer.queries, this.layer.keys));
    const gap = Math.max(NARROWEST, Math.min(GAP, Math.round(0.36 * this.element.clientWidth)));
    const top = this.element.scrollTop, pen = sharpen(this.canvas, gap, height);
    this.canvas.style.top = `${top}px`;
    const focus = this.view.state.focus;
    pen.lineCap = "round";
    for (const [head, query, key, weight] of focus ? this.focusEdges(focus) : this.strongestEdges()) {
      const beside = aside(head, this.map.heads.length);
      const from = query * ROW + ROW / 2 - top + beside, to = key * ROW + ROW / 2 - top + beside;
      if (Math.max(from, to) < 0 || Math.min(from, to) > height) continue;
      pen.globalAlpha = Math.min(1, (focus ? 0.15 : 0.04) + weight);
      pen.strokeStyle = headColour(this.map.heads[head]);
      pen.lineWidth = 0.6 + 2.2 * weight;
      pen.beginPath();
      pen.moveTo(2, from);
      pen.bezierCurveTo(gap / 2, from, gap / 2, to, gap - 2, to);
      pen.stroke();
    }
    this.shade(focus);
  }

  shade(focus) {
    for (const word of this.shaded) { word.style.background = ""; word.setAttribute("aria-selected", "false"); }
    this.shaded = [];
    if (!focus) return;
    const { heads } = this.view.state, other = focus.side === "query" ? "key" : "query";
    const numbers = focus.side === "query" ? this.layer.row(heads, focus.place) : this.layer.column(heads, focus.place);
    const most = Math.max(...numbers) || 1;
    numbers.forEach((weight, place) => {
      if (weight < 0.03 * most) return;
      const word = this.words[other].children[place];
      word.style.background = shade(this.view.theme, weight / most);
      this.shaded.push(word);
    });
    const own = this.words[focus.side].children[focus.place];
    own.setAttribute("aria-selected", "true");
    this.shaded.push(own);
  }
}

// Heads that look at the same word run side by side, not on top of each other.
function aside(head, heads) {
  return (head - (heads - 1) / 2) * Math.min(2.4, 14 / heads);
}
