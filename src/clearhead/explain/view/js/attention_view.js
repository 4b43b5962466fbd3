// The attention view: mount(element, payload) in a page, render({ model, el }) in a notebook.

import { Cards, card } from "./cards.js";
import { Controls } from "./controls.js";
import { make } from "./drawing.js";
import { Flow } from "./flow.js";
import { HeatMap } from "./map.js";
import { Model } from "./model.js";
import { Store } from "./weights.js";

const ROWS = "A row of cross-attention is labelled with the token that is predicted, a row of decoder self-attention with the token that is read.";

export class AttentionView {
  constructor(element, payload, linked = false) {
    this.payload = payload;
    this.linked = linked; // the state is kept in the fragment of the page's address
    this.theme = payload.theme === "auto" ? preferred() : payload.theme;
    this.store = new Store(payload);
    this.pinned = null;
    this.state = { focus: null, edges: 3, ...payload.start, ...(linked ? fromFragment(payload) : {}) };
    this.views = { flow: new Flow(this), map: new HeatMap(this), model: new Model(this) };
    this.controls = new Controls(this);
    this.cards = new Cards(this);
    this.heading = make("h2", { className: "ch-heading" });
    this.stage = make("div", { className: "ch-stage" });
    this.rows = make("p", { className: "ch-legend ch-rows", textContent: ROWS });
    const main = make("section", { className: "ch-card ch-main" }, this.heading, this.stage, this.rows);
    this.cards.element.append(caution(payload));
    const [source, ...target] = payload.title.split(" → ");
    const title = make("p", { className: "ch-title", dir: "auto" }, source, ...(target.length ? [make("span", { textContent: ` → ${target.join(" → ")}` })] : []));
    title.hidden = !payload.title;
    this.root = make("section", { className: "ch-attention", "aria-label": "Attention view" }, title, this.controls.element, make("div", { className: "ch-body" }, main, this.cards.element));
    this.root.dataset.theme = this.theme;
    element.replaceChildren(this.root);
    if (payload.theme === "auto") darkness().addEventListener("change", () => this.retheme());
    new ResizeObserver(() => this.refit()).observe(main);
    this.update({});
  }

  // Changes the state; `ready` resolves when the change is visible.
  update(changes) {
    this.ready = this.change(changes);
    return this.ready;
  }

  async change(changes) {
    this.state = { ...this.state, ...changes, focus: null };
    this.pinned = null;
    const map = this.payload.maps[this.state.map];
    this.state.heads = this.state.heads || map.heads.map((_, i) => i);
    this.controls.show(this.state, this.payload.maps);
    this.cards.show(null);
    const { view, map: index, layer: place } = this.state;
    this.heading.textContent = headline(map, view, place);
    // Only maps of our translators have d_k: the tokens of other maps are the caller's.
    this.rows.hidden = !map.d_k || !["cross", "decoder"].includes(map.kind);
    if (this.linked) toFragment(this.state);
    const layer = await this.store.layer(index, place);
    if (view !== this.state.view || index !== this.state.map || place !== this.state.layer) return;
    const shown = this.views[view];
    if (this.stage.firstChild !== shown.element) this.stage.replaceChildren(shown.element);
    this.layer = layer;
    await shown.show(map, layer, index);
  }

  // The token under the pointer or the keyboard's focus: { side, place, other }, or null.
  point(focus) {
    const now = this.state.focus;
    const same = now && focus && now.side === focus.side && now.place === focus.place && now.other === focus.other;
    if (same || (!now && !focus)) return;
    this.state.focus = focus;
    this.cards.show(focus, this.payload.maps[this.state.map], this.layer);
    this.views[this.state.view].draw();
  }

  // A pinned token stays selected when the pointer leaves it.
  pin(focus) {
    this.pinned = focus;
    this.point(focus);
  }

  retheme() {
    this.theme = this.root.dataset.theme = preferred();
    this.update({});
  }

  // Maps and thumbnails are laid out again for another width.
  refit() {
    const width = this.stage.clientWidth;
    if (this.width && width !== this.width && this.state.view !== "flow") this.update({});
    this.width = width;
  }
}

function darkness() {
  return window.matchMedia("(prefers-color-scheme: dark)");
}

function preferred() {
  return darkness().matches ? "dark" : "light";
}

function headline(map, view, place) {
  const layer = view === "model" || map.layers.length < 2 ? "" : `, layer ${map.layers[place]}`;
  const flow = map.kind === "saliency" ? "target tokens on the left, source tokens on the right" : "queries on the left, keys on the right";
  const row = map.kind === "saliency" ? "target token" : "query";
  const sides = { flow, map: `one row for each ${row}`, model: map.kind === "saliency" ? "click to open it" : "every head; click to open one" };
  return `${map.title}${layer}: ${sides[view]}`;
}

function fromFragment(payload) {
  const given = new URLSearchParams(location.hash.slice(1)), found = {};
  if (["flow", "map", "model"].includes(given.get("view"))) found.view = given.get("view");
  const map = payload.maps[Number(given.get("map"))];
  if (!given.has("map") || !map) return found;
  found.map = Number(given.get("map"));
  const layer = Number(given.get("layer")), heads = (given.get("heads") || "").split(",").map(Number);
  found.layer = map.layers[layer] === undefined ? 0 : layer;
  found.heads = given.get("heads") && heads.every((head) => map.heads[head] !== undefined) ? heads : null;
  return found;
}

function toFragment({ view, map, layer, heads }) {
  history.replaceState(null, "", `#${new URLSearchParams({ view, map, layer, heads: heads.join() })}`);
}

function caution(payload) {
  const links = payload.caution.papers.map(({ title, url }) => make("li", {}, make("a", { href: url, target: "_blank", rel: "noopener", textContent: title })));
  const text = make("p", {}, make("strong", { textContent: "Read attention weights with care. " }), payload.caution.text);
  return card("", "ch-caution", text, make("ul", {}, ...links), make("p", { className: "ch-exactness", textContent: payload.exactness }));
}

export function mount(element, payload, linked) {
  return new AttentionView(element, payload, linked);
}

export default {
  render({ model, el }) {
    mount(el, model.get("payload"));
  },
};
