// One matrix, averaged over the chosen heads: rows are queries, columns are keys.

import { clamp, colouring, COLOURS, headColour, make, oncePerFrame, resize } from "./drawing.js";

const LABELLED = 64, FONT = 14, CELL = [11, 48]; // tokens; pixels

export class HeatMap {
  constructor(view) {
    this.view = view;
    this.ground = make("canvas", { "aria-hidden": "true" });
    this.marks = make("canvas", { tabIndex: 0, role: "img" });
    this.top = make("canvas", { "aria-hidden": "true", className: "ch-top" });
    this.left = make("canvas", { "aria-hidden": "true", className: "ch-left" });
    this.cells = make("div", { className: "ch-cells" }, this.ground, this.marks);
    this.sheet = make("div", { className: "ch-sheet" }, make("span", { className: "ch-corner" }), this.top, this.left, this.cells);
    this.frame = make("div", { className: "ch-map ch-scroll" }, this.sheet);
    this.legend = make("p", { className: "ch-legend" });
    this.element = make("div", {}, this.frame, this.legend);
    this.draw = oncePerFrame(() => this.mark());
    this.marks.addEventListener("pointermove", (event) => this.view.point(this.at(event) || this.view.pinned));
    this.marks.addEventListener("click", (event) => this.view.pin(this.at(event)));
    this.marks.addEventListener("pointerleave", () => this.view.point(this.view.pinned));
    this.marks.addEventListener("keydown", (event) => this.walk(event));
  }

  show(map, layer) {
    this.map = map;
    this.layer = layer;
    const labelled = Math.max(layer.queries, layer.keys) <= LABELLED;
    this.margins(labelled);
    const width = (this.view.stage.clientWidth || 640) - this.aside - this.slant - 4;
    const height = window.innerHeight - this.above - 250;
    const fitting = Math.floor(Math.min(width / layer.keys, Math.max(height, 240) / layer.queries));
    this.cell = labelled ? clamp(fitting, ...CELL) : clamp(Math.floor(width / layer.keys), 2, CELL[1]);
    this.width = this.cell * layer.keys;
    this.height = this.cell * layer.queries;
    this.cells.style.width = `${this.width}px`;
    this.cells.style.height = `${this.height}px`;
    this.marks.setAttribute("aria-label", `${map.title}, heat map of ${layer.queries} by ${layer.keys} tokens; arrow keys move through it`);
    this.fill();
    this.label(labelled);
    this.draw();
  }

  // Room for the longest labels: of the queries beside the rows, of the keys above the columns.
  margins(labelled) {
    const context = this.left.getContext("2d");
    context.font = `${FONT}px system-ui, sans-serif`;
    const longest = (tokens) => Math.max(...tokens.map((token) => context.measureText(short(token)).width));
    const key = labelled ? longest(this.map.keys) : 0;
    this.aside = labelled ? Math.ceil(longest(this.map.queries)) + 12 : 0;
    this.above = labelled ? Math.ceil(key * Math.sin(Math.PI / 3)) + 18 : 0;
    this.slant = labelled ? Math.ceil(key * Math.cos(Math.PI / 3)) : 0;
  }

  fill() {
    const { layer } = this, { state, theme } = this.view, context = resize(this.ground, this.width, this.height);
    const rows = Array.from({ length: layer.queries }, (_, query) => layer.row(state.heads, query));
    const most = rows.reduce((best, row) => row.reduce((a, b) => Math.max(a, b), best), 0);
    const one = state.heads.length === 1 && this.map.heads.length > 1;
    const hue = one ? headColour(theme, this.map.heads[state.heads[0]]) : COLOURS[theme].accent;
    const colour = colouring(theme, hue, most, Math.max(layer.queries, layer.keys));
    const image = new ImageData(layer.keys, layer.queries);
    rows.forEach((row, query) => row.forEach((weight, key) => {
      image.data.set(colour(weight), 4 * (query * layer.keys + key));
      image.data[4 * (query * layer.keys + key) + 3] = 255;
    }));
    const scale = make("span", { className: "ch-scale", "aria-hidden": "true" });
    const stops = Array.from({ length: 33 }, (_, i) => `rgb(${colour((most * i) / 32)})`); // of a long text not linear
    scale.style.background = `linear-gradient(to right, ${stops})`;
    const heads = state.heads.length > 1 ? `, mean of ${state.heads.length} heads` : "";
    const what = this.map.kind === "saliency" ? "Rows: target tokens. Columns: source tokens. Share of saliency" : "Rows: queries. Columns: keys. Weight";
    this.legend.replaceChildren(`${what}${heads}: 0 `, scale, ` ${most.toFixed(2)}`);
    const small = make("canvas", { width: layer.keys, height: layer.queries });
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, this.width, this.height);
  }

  label(labelled) {
    const { cell, map } = this, font = `${clamp(cell - 2, 9, FONT)}px system-ui, sans-serif`;
    const left = resize(this.left, this.aside, this.height), top = resize(this.top, this.width + this.slant, this.above);
    if (!labelled) return;
    for (const context of [left, top]) {
      context.font = font;
      context.fillStyle = COLOURS[this.view.theme].ink;
      context.textBaseline = "middle";
    }
    left.textAlign = "right";
    map.queries.forEach((token, place) => left.fillText(short(token), this.aside - 6, cell * (place + 0.5)));
    map.keys.forEach((token, place) => {
      top.save();
      top.translate(cell * (place + 0.5), this.above - 6);
      top.rotate(-Math.PI / 3);
      top.fillText(short(token), 0, 0);
      top.restore();
    });
  }

  at(event) {
    const key = Math.floor(event.offsetX / this.cell), query = Math.floor(event.offsetY / this.cell);
    const inside = key >= 0 && query >= 0 && key < this.layer.keys && query < this.layer.queries;
    return inside ? { side: "query", place: query, other: key } : null;
  }

  walk(event) {
    if (event.key === "Escape") this.view.pin(null);
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const now = this.view.state.focus || { place: -1, other: 0 };
    const [down, right] = steps[event.key];
    const place = clamp(now.place + down, 0, this.layer.queries - 1);
    const other = clamp((now.other || 0) + right, 0, this.layer.keys - 1);
    this.view.point({ side: "query", place, other });
  }

  mark() {
    if (!this.layer) return;
    const { cell, layer } = this, context = resize(this.marks, this.width, this.height);
    const focus = this.view.state.focus;
    if (!focus) return;
    context.strokeStyle = COLOURS[this.view.theme].ink;
    context.lineWidth = cell > 4 ? 2 : 1;
    const [query, key] = focus.side === "query" ? [focus.place, focus.other] : [focus.other, focus.place];
    if (query !== undefined) context.strokeRect(1, cell * query + 1, cell * layer.keys - 2, cell - 1);
    if (key !== undefined) context.strokeRect(cell * key + 1, 1, cell - 1, cell * layer.queries - 2);
  }
}

function short(token) {
  return token.length > 14 ? `${token.slice(0, 13)}…` : token;
}
