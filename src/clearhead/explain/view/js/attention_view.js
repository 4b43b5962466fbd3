// The attention view: mount(element, payload) in a page, render({ model, el }) in a notebook.

import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { Flow } from "./flow.js";
import { HeatMap } from "./map.js";
import { Model } from "./model.js";
import { Readout } from "./readout.js";
import { Store } from "./weights.js";

export class AttentionView {
  constructor(element, payload) {
    this.payload = payload;
    this.theme = payload.theme === "auto" ? preferred() : payload.theme;
    this.store = new Store(payload);
    this.state = { focus: null, edges: 3, ...payload.start };
    this.views = { flow: new Flow(this), map: new HeatMap(this), model: new Model(this) };
    this.controls = new Controls(this);
    this.readout = new Readout(this);
    this.stage = make("div", { className: "ch-stage" });
    const side = make("div", { className: "ch-side" }, this.readout.element, caution(payload));
    const body = make("div", { className: "ch-body" }, this.stage, side);
    const title = make("p", { className: "ch-title", dir: "auto", textContent: payload.title });
    const root = make("section", { className: "ch-attention", "aria-label": "Attention view" }, title, this.controls.element, body);
    root.dataset.theme = this.theme;
    element.replaceChildren(root);
    this.update({});
  }

  // What is chosen changes; `ready` is when it can be seen.
  update(changes) {
    this.ready = this.change(changes);
    return this.ready;
  }

  async change(changes) {
    this.state = { ...this.state, ...changes, focus: null };
    const map = this.payload.maps[this.state.map];
    this.state.heads = this.state.heads || map.heads.map((_, i) => i);
    this.controls.show(this.state, this.payload.maps);
    this.readout.say(null);
    const { view, map: index, layer: place } = this.state;
    const layer = await this.store.layer(index, place);
    if (view !== this.state.view || index !== this.state.map || place !== this.state.layer) return;
    const shown = this.views[view];
    if (this.stage.firstChild !== shown.element) this.stage.replaceChildren(shown.element);
    this.layer = layer;
    await shown.show(map, layer, index);
  }

  // The word under the pointer or the keyboard's focus: { side, place, other }, or null.
  point(focus) {
    const now = this.state.focus;
    const same = now && focus && now.side === focus.side && now.place === focus.place && now.other === focus.other;
    if (same || (!now && !focus)) return;
    this.state.focus = focus;
    this.readout.say(focus, this.payload.maps[this.state.map], this.layer);
    this.views[this.state.view].draw();
  }
}

// What the reader has chosen for all pages.
function preferred() {
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function caution(payload) {
  const note = make("div", { className: "ch-caution", role: "note" }, make("p", {}, make("strong", { textContent: "Attention is not explanation. " }), payload.caution.text));
  const links = payload.caution.papers.map(({ title, url }) => make("li", {}, make("a", { href: url, target: "_blank", rel: "noopener", textContent: title })));
  note.append(make("ul", {}, ...links), make("p", { className: "ch-exactness", textContent: payload.exactness }));
  return note;
}

export function mount(element, payload) {
  return new AttentionView(element, payload);
}

export default {
  render({ model, el }) {
    mount(el, model.get("payload"));
  },
};
