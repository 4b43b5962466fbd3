// The controls: view, kind of attention, layer, heads, lines for each token. Those without effect are hidden.

import { headColour, make } from "./drawing.js";

const VIEWS = { flow: "Lines", map: "Heat map", model: "All layers" };

export class Controls {
  constructor(view) {
    this.view = view;
    this.tabs = make("div", { className: "ch-tabs", role: "group", "aria-label": "View" });
    for (const [name, title] of Object.entries(VIEWS)) {
      const tab = make("button", { type: "button", textContent: title, name });
      tab.addEventListener("click", () => view.update({ view: name }));
      this.tabs.append(tab);
    }
    this.map = select("Attention", (value) => view.update({ map: Number(value), layer: 0, heads: null }));
    this.layer = select("Layer", (value) => view.update({ layer: Number(value) }));
    this.edges = make("input", { type: "range", min: 1, max: 16 });
    this.edges.addEventListener("input", () => view.update({ edges: Number(this.edges.value) }));
    this.count = make("output");
    this.lines = make("label", { className: "ch-edges" }, "Lines per token ", this.edges, " ", this.count);
    this.heads = make("fieldset", { className: "ch-heads" });
    this.element = make("div", { className: "ch-controls" }, this.tabs, this.map.label, this.layer.label, this.heads, this.lines);
  }

  show(state, maps) {
    const map = maps[state.map], single = state.view !== "model";
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.name === state.view));
    fill(this.map.box, maps.map((one) => one.title), state.map);
    fill(this.layer.box, map.layers.map(String), state.layer);
    this.edges.value = state.edges;
    this.count.textContent = state.edges;
    this.lines.hidden = state.view !== "flow";
    this.map.label.hidden = maps.length < 2;
    this.layer.label.hidden = !single || map.layers.length < 2;
    this.heads.hidden = !single || map.heads.length < 2;
    const held = this.heads.contains(document.activeElement) ? document.activeElement.dataset.head : null;
    this.heads.replaceChildren(make("legend", { textContent: "Heads" }), ...map.heads.map((_, at) => this.head(map, at, state)), this.all(map, state));
    if (held) this.heads.querySelector(`[data-head="${held}"]`).focus();
  }

  head(map, at, state) {
    const box = make("input", { type: "checkbox", checked: state.heads.includes(at) });
    box.dataset.head = at;
    box.addEventListener("change", () => {
      const heads = map.heads.map((_, i) => i).filter((i) => (i === at ? box.checked : state.heads.includes(i)));
      this.view.update({ heads: heads.length ? heads : [at] });
    });
    const swatch = make("span", { className: "ch-swatch", "aria-hidden": "true" });
    swatch.style.background = headColour(this.view.theme, map.heads[at]);
    const label = make("label", { title: "double click: only this head" }, box, swatch, String(map.heads[at]));
    label.addEventListener("dblclick", () => this.view.update({ heads: [at] }));
    return label;
  }

  all(map, state) {
    const button = make("button", { type: "button", textContent: "all", disabled: state.heads.length === map.heads.length });
    button.dataset.head = "all";
    button.addEventListener("click", () => this.view.update({ heads: map.heads.map((_, i) => i) }));
    return button;
  }
}

function select(title, chosen) {
  const box = make("select");
  box.addEventListener("change", () => chosen(box.value));
  return { box, label: make("label", {}, `${title} `, box) };
}

function fill(box, titles, chosen) {
  box.replaceChildren(...titles.map((title, value) => make("option", { value, textContent: title })));
  box.value = chosen;
}
