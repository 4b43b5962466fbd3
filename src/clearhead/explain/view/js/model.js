// Every head of every layer as a small picture; a click opens it.

import { colouring } from "./colours.js";
import { make } from "./dom.js";

const WIDTH = 640, SMALLEST = 64, LARGEST = 132;

export class Model {
  constructor(view) {
    this.view = view;
    this.element = make("div", { className: "ch-model" });
  }

  async show(map, _, index) {
    const table = make("div", { className: "ch-grid" });
    table.style.gridTemplateColumns = `auto repeat(${map.heads.length}, auto)`;
    table.append(make("span"), ...map.heads.map((head) => make("span", { textContent: `head ${head}` })));
    this.element.replaceChildren(table);
    const current = (this.drawing = {});
    for (let place = 0; place < map.layers.length; place++) {
      table.append(make("span", { textContent: `layer ${map.layers[place]}` }));
      const buttons = map.heads.map((head, at) => this.button(map, place, at));
      table.append(...buttons.map(([button]) => button));
      const layer = await this.view.store.layer(index, place);
      if (this.drawing !== current) return;
      buttons.forEach(([, canvas], head) => this.thumbnail(canvas, layer, head));
      await new Promise((resolve) => setTimeout(resolve)); // let the reader see each row as it comes
    }
  }

  button(map, place, head) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const name = `layer ${map.layers[place]}, head ${map.heads[head]}`;
    const button = make("button", { type: "button", title: name, "aria-label": `Open ${name}` }, canvas);
    button.addEventListener("click", () => this.view.update({ view: "map", layer: place, heads: [head] }));
    return [button, canvas];
  }

  // Of the cells that fall on one dot, the largest is shown: a thin line must not vanish.
  thumbnail(canvas, layer, head) {
    const side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(WIDTH / layer.heads) - 12));
    const step = Math.max(1, Math.ceil(Math.max(layer.queries, layer.keys) / side));
    const width = Math.ceil(layer.keys / step), height = Math.ceil(layer.queries / step);
    const most = new Float32Array(width * height), row = new Float32Array(layer.keys);
    for (let query = 0; query < layer.queries; query++) {
      layer.row([head], query, row);
      const start = Math.floor(query / step) * width;
      for (let key = 0; key < layer.keys; key++) {
        const at = start + Math.floor(key / step);
        if (row[key] > most[at]) most[at] = row[key];
      }
    }
    const colour = colouring(this.view.theme, 1, Math.max(layer.queries, layer.keys));
    const image = new ImageData(width, height);
    most.forEach((weight, at) => image.data.set([...colour(weight), 255], 4 * at));
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d").putImageData(image, 0, 0);
    const scale = side / Math.max(width, height);
    canvas.style.width = `${Math.max(4, width * scale)}px`;
    canvas.style.height = `${Math.max(4, height * scale)}px`;
  }

  draw() {}
}
