// Two columns of tokens, and lines from each query to its keys; one colour for each head.

import { clamp, COLOURS, headColour, headDash, make, oncePerFrame, resize } from "./drawing.js";
import { strongest } from "./weights.js";

const ROW = [22, 44], GAP = [72, 460], LEAST_LABELLED = 0.03; // pixels; weights from which a number is shown

export class Flow {
  constructor(view) {
    this.view = view;
    this.canvas = make("canvas", { "aria-hidden": "true", className: "ch-lines" });
    this.element = make("div", { className: "ch-flow ch-scroll" });
    this.draw = oncePerFrame(() => this.paint());
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("pointerover", (event) => this.point(event.target));
    this.element.addEventListener("focusin", (event) => this.point(event.target));
    this.element.addEventListener("click", (event) => this.pin(event.target));
    this.element.addEventListener("keydown", (event) => this.walk(event));
    this.element.addEventListener("pointerleave", () => {
      if (!this.element.contains(document.activeElement)) this.view.point(this.view.pinned);
    });
  }

  show(map, layer) {
    this.map = map;
    this.layer = layer;
    this.edges = null;
    this.tokens = { query: this.list("query", map.queries), key: this.list("key", map.keys) };
    const count = Math.max(map.queries.length, map.keys.length);
    this.row = clamp(Math.floor((window.innerHeight - 260) / count), ...ROW);
    this.element.style.setProperty("--row", `${this.row}px`);
    const inner = make("div", { className: "ch-columns" }, this.tokens.query, this.canvas, this.tokens.key);
    inner.style.height = `${this.row * count}px`;
    this.element.replaceChildren(inner);
    this.marked = [];
    this.draw();
  }

  list(side, tokens) {
    const name = side === "query" ? "Queries" : "Keys";
    const list = make("div", { className: `ch-words ch-${side}`, role: "listbox", "aria-label": name });
    tokens.forEach((token, place) => {
      const option = make("div", { role: "option", "aria-selected": "false", tabIndex: place ? -1 : 0, dir: "auto", textContent: token });
      option.dataset.side = side;
      option.dataset.place = place;
      list.append(option);
    });
    return list;
  }

  at(target) {
    const { side, place } = target.dataset || {};
    return place === undefined ? null : { side, place: Number(place) };
  }

  // With a pinned token, a token of the other column selects the pair.
  point(target) {
    const found = this.at(target), pinned = this.view.pinned;
    if (!found) return;
    if (pinned && pinned.side !== found.side) this.view.point({ ...pinned, other: found.place });
    else if (!pinned || pinned.place === found.place) this.view.point(found);
  }

  pin(target) {
    const found = this.at(target), pinned = this.view.pinned;
    if (!found) return;
    const same = pinned && pinned.side === found.side && pinned.place === found.place;
    if (pinned && pinned.side !== found.side) this.view.pin({ ...pinned, other: found.place });
    else this.view.pin(same ? null : found);
  }

  walk(event) {
    if (event.key === "Escape") return this.view.pin(null);
    const found = this.at(event.target);
    if (!found) return undefined;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.pin(event.target);
    }
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const across = event.key === "ArrowLeft" ? "query" : event.key === "ArrowRight" ? "key" : null;
    if (!across && !(event.key in steps)) return undefined;
    event.preventDefault();
    const tokens = this.tokens[across || found.side].children;
    const next = tokens[clamp(found.place + (across ? 0 : steps[event.key]), 0, tokens.length - 1)];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    return next.focus({ preventScroll: false });
  }

  // The k largest weights of every query in every head: [head, query, key, weight].
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
    const { heads, edges } = this.view.state, found = [], isQuery = focus.side === "query";
    for (const head of heads) {
      const weights = isQuery ? this.layer.row([head], focus.place) : this.layer.column([head], focus.place);
      for (const other of strongest(weights, edges)) {
        const [query, key] = isQuery ? [focus.place, other] : [other, focus.place];
        found.push([head, query, key, weights[other]]);
      }
    }
    return found;
  }

  paint() {
    if (!this.layer) return;
    const { row } = this, { state, theme } = this.view, focus = state.focus;
    const height = Math.min(this.element.clientHeight || 1, row * Math.max(this.layer.queries, this.layer.keys));
    const width = this.element.clientWidth, gap = clamp(Math.round((width < 560 ? 0.28 : 0.42) * width), ...GAP);
    const top = this.element.scrollTop, context = resize(this.canvas, gap, height);
    this.canvas.style.top = `${top}px`;
    context.lineCap = "round";
    for (const [head, query, key, weight] of focus ? this.focusEdges(focus) : this.strongestEdges()) {
      const offset = beside(head, this.map.heads.length);
      const from = (query + 0.5) * row - top + offset, to = (key + 0.5) * row - top + offset;
      if (Math.max(from, to) < 0 || Math.min(from, to) > height) continue;
      context.globalAlpha = Math.min(1, (focus ? 0.2 : 0.05) + weight);
      context.strokeStyle = headColour(theme, this.map.heads[head]);
      context.setLineDash(headDash(this.map.heads[head]));
      context.lineWidth = 0.8 + (focus ? 4 : 2.4) * weight;
      context.beginPath();
      context.moveTo(2, from);
      context.bezierCurveTo(gap / 2, from, gap / 2, to, gap - 2, to);
      context.stroke();
    }
    this.mark(focus);
  }

  // The selected token, and behind the tokens of the other column their weights.
  mark(focus) {
    for (const token of this.marked) {
      token.style.background = "";
      token.removeAttribute("data-weight");
      token.setAttribute("aria-selected", "false");
    }
    this.marked = [];
    this.element.classList.toggle("ch-focused", Boolean(focus));
    if (!focus) return;
    const { heads } = this.view.state, isQuery = focus.side === "query";
    const weights = isQuery ? this.layer.row(heads, focus.place) : this.layer.column(heads, focus.place);
    const most = Math.max(...weights) || 1, others = this.tokens[isQuery ? "key" : "query"].children;
    weights.forEach((weight, place) => {
      if (weight < LEAST_LABELLED * most && place !== focus.other) return;
      const share = Math.round(28 * (weight / most));
      others[place].style.background = `color-mix(in srgb, ${COLOURS[this.view.theme].accent} ${share}%, transparent)`;
      if (weight >= LEAST_LABELLED || place === focus.other) others[place].dataset.weight = weight.toFixed(2);
      if (place === focus.other) others[place].setAttribute("aria-selected", "true");
      this.marked.push(others[place]);
    });
    const own = this.tokens[focus.side].children[focus.place];
    own.setAttribute("aria-selected", "true");
    this.marked.push(own);
  }
}

// Lines of several heads between the same tokens are drawn next to each other.
function beside(head, heads) {
  return (head - (heads - 1) / 2) * Math.min(3.2, 16 / heads);
}
