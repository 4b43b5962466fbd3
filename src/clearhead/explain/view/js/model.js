// Every head of every layer as a thumbnail; a click opens it. Labels stay visible while scrolling.

import { clamp, colouring, headColour, make } from "./drawing.js";

const SIDES = [64, 190], LABEL = 76, SPACE = 10; // pixels

export class Model {
  constructor(view) {
    this.view = view;
    this.element = make("div", { className: "ch-model ch-scroll" });
  }

  async show(map, _, index) {
    const across = ((this.view.stage.clientWidth || 640) - LABEL) / map.heads.length - SPACE;
    const down = (window.innerHeight - 280) / map.layers.length - SPACE;
    this.side = clamp(Math.floor(Math.min(across, down)), ...SIDES);
    const saliency = map.kind === "saliency"; // one map, of no layer and no head
    const table = make("div", { className: "ch-grid" });
    table.style.gridTemplateColumns = `${LABEL - SPACE}px repeat(${map.heads.length}, ${this.side}px)`;
    table.append(make("span", { className: "ch-corner" }), ...map.heads.map((head) => make("span", { className: "ch-above", textContent: saliency ? "" : `head ${head}` })));
    this.element.replaceChildren(table);
    const current = (this.drawing = {});
    for (let place = 0; place < map.layers.length; place++) {
      table.append(make("span", { className: "ch-aside", textContent: saliency ? "" : `layer ${map.layers[place]}` }));
      const buttons = map.heads.map((head, at) => this.button(map, place, at));
      table.append(...buttons.map(([button]) => button));
      const layer = await this.view.store.layer(index, place);
      if (this.drawing !== current) return;
      buttons.forEach(([, canvas], head) => this.thumbnail(canvas, layer, head, map.heads[head]));
      await new Promise((resolve) => setTimeout(resolve)); // show each row as soon as it is drawn
    }
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = this.element;
    if (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1) this.view.heading.textContent += "; scroll to see all";
  }

  button(map, place, head) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const name = map.kind === "saliency" ? "saliency" : `layer ${map.layers[place]}, head ${map.heads[head]}`;
    const button = make("button", { type: "button", title: name, "aria-label": `Open ${name}` }, canvas);
    button.addEventListener("click", () => this.view.update({ view: "map", layer: place, heads: [head] }));
    return [button, canvas];
  }

  // Of the cells that fall on one pixel the largest is shown, so that thin lines stay visible.
  thumbnail(canvas, layer, head, number) {
    const step = Math.max(1, Math.ceil(Math.max(layer.queries, layer.keys) / this.side));
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
    const { theme } = this.view;
    const colour = colouring(theme, headColour(theme, number), 1, Math.max(layer.queries, layer.keys));
    const image = new ImageData(width, height);
    most.forEach((weight, at) => image.data.set([...colour(weight), 255], 4 * at));
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d").putImageData(image, 0, 0);
    const scale = (this.side - 8) / Math.max(width, height);
    canvas.style.width = `${Math.max(4, width * scale)}px`;
    canvas.style.height = `${Math.max(4, height * scale)}px`;
  }

  draw() {}
}
