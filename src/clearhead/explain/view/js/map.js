// One matrix: rows look, columns are looked at. The average of the chosen heads.

import { colouring } from "./colours.js";
import { make, onceAFrame, sharpen } from "./dom.js";

const LABELLED = 64, SIDE = 620, LABELS = 110, SLANT = 40;

export class HeatMap {
  constructor(view) {
    this.view = view;
    this.ground = make("canvas", { "aria-hidden": "true" });
    this.marks = make("canvas", { tabIndex: 0, role: "img" });
    this.sheet = make("div", { className: "ch-sheet" }, this.ground, this.marks);
    this.legend = make("p", { className: "ch-legend" });
    this.element = make("div", { className: "ch-map" }, this.sheet, this.legend);
    this.draw = onceAFrame(() => this.mark());
    this.marks.addEventListener("pointermove", (event) => this.point(event));
    this.marks.addEventListener("pointerleave", () => this.view.point(null));
    this.marks.addEventListener("keydown", (event) => this.walk(event));
  }

  show(map, layer) {
    this.map = map;
    this.layer = layer;
    const most = Math.max(layer.queries, layer.keys);
    this.edge = most <= LABELLED ? LABELS : 0;
    const slant = this.edge ? SLANT : 0; // of the last word above
    const room = Math.min(SIDE, (this.view.stage.clientWidth || SIDE) - this.edge - slant);
    this.cell = Math.max(this.edge ? 11 : 2, Math.min(28, Math.floor(SIDE / most), Math.floor(room / layer.keys)));
    this.width = this.edge + this.cell * layer.keys + slant;
    this.height = this.edge + this.cell * layer.queries;
    this.sheet.style.width = `${this.width}px`;
    this.sheet.style.height = `${this.height}px`;
    this.marks.setAttribute("aria-label", `${map.title}, heat map of ${layer.queries} by ${layer.keys} words; arrow keys move through it`);
    this.fill();
    this.draw();
  }

  fill() {
    const { layer, cell, edge } = this, { heads } = this.view.state;
    const pen = sharpen(this.ground, this.width, this.height);
    const rows = Array.from({ length: layer.queries }, (_, query) => layer.row(heads, query));
    const most = rows.reduce((best, row) => row.reduce((a, b) => Math.max(a, b), best), 0);
    const colour = colouring(this.view.theme, most, Math.max(layer.queries, layer.keys));
    const image = new ImageData(layer.keys, layer.queries);
    rows.forEach((row, query) => row.forEach((weight, key) => {
      image.data.set(colour(weight), 4 * (query * layer.keys + key));
      image.data[4 * (query * layer.keys + key) + 3] = 255;
    }));
    this.legend.textContent = `Rows look, columns are looked at. The strongest colour is ${most.toFixed(2)}.`;
    const small = make("canvas", { width: layer.keys, height: layer.queries });
    small.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, edge, edge, cell * layer.keys, cell * layer.queries);
    if (edge) this.name(pen);
  }

  name(pen) {
    const { cell, edge, map } = this, size = Math.max(8, Math.min(13, cell - 2));
    pen.font = `${size}px system-ui, sans-serif`;
    pen.fillStyle = this.view.theme === "dark" ? "#dddddd" : "#333333";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    map.queries.forEach((word, place) => pen.fillText(short(word), edge - 6, edge + cell * (place + 0.5)));
    pen.textAlign = "left";
    map.keys.forEach((word, place) => {
      pen.save();
      pen.translate(edge + cell * (place + 0.5), edge - 6);
      pen.rotate(-Math.PI / 3);
      pen.fillText(short(word), 0, 0);
      pen.restore();
    });
  }

  point(event) {
    const key = Math.floor((event.offsetX - this.edge) / this.cell), query = Math.floor((event.offsetY - this.edge) / this.cell);
    const inside = key >= 0 && query >= 0 && key < this.layer.keys && query < this.layer.queries;
    this.view.point(inside ? { side: "query", place: query, other: key } : null);
  }

  walk(event) {
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const now = this.view.state.focus || { place: -1, other: 0 };
    const [down, right] = steps[event.key];
    const place = clamp(now.place + down, this.layer.queries), other = clamp((now.other || 0) + right, this.layer.keys);
    this.view.point({ side: "query", place, other });
  }

  mark() {
    if (!this.layer) return;
    const { cell, edge, layer } = this, pen = sharpen(this.marks, this.width, this.height);
    const focus = this.view.state.focus;
    if (!focus) return;
    pen.strokeStyle = "#D55E00";
    pen.lineWidth = cell > 4 ? 2 : 1;
    if (focus.side === "query") pen.strokeRect(edge - 0.5, edge + cell * focus.place - 0.5, cell * layer.keys + 1, cell + 1);
    const column = focus.side === "key" ? focus.place : focus.other;
    if (column !== undefined) pen.strokeRect(edge + cell * column - 0.5, edge - 0.5, cell + 1, cell * layer.queries + 1);
  }
}

function short(word) {
  return word.length > 14 ? `${word.slice(0, 13)}…` : word;
}

function clamp(place, length) {
  return Math.max(0, Math.min(length - 1, place));
}
