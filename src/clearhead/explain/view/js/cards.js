// The cards beside the view: the weights of a token, how one weight arises, the next token.

import { make } from "./drawing.js";
import { strongest } from "./weights.js";

const SHOWN = 8, LEAST = 0.0005, QUIET = 350; // milliseconds of rest before it is read aloud
const HELP = "Point at a token, or use Tab and the arrow keys, to see its weights. Click to keep it selected.";

export class Cards {
  constructor(view) {
    this.view = view;
    this.title = make("p", { className: "ch-asked" });
    this.note = make("p", { className: "ch-legend" });
    this.list = make("ol", { className: "ch-answers" });
    this.aloud = make("p", { className: "ch-aloud", "aria-live": "polite" });
    this.arises = card("", "ch-arises");
    this.next = card("", "ch-next");
    this.weights = make("section", { className: "ch-card ch-readout" }, this.title, this.list, this.note, this.aloud);
    this.element = make("div", { className: "ch-side" }, this.weights, this.arises, this.next);
    this.show(null);
  }

  show(focus, map, layer) {
    clearTimeout(this.timer);
    this.current = {};
    this.arises.hidden = this.next.hidden = true;
    this.weights.hidden = this.view.state.view === "model"; // where no token can be selected
    this.title.textContent = focus ? "" : HELP;
    this.title.classList.toggle("ch-help", !focus);
    this.list.replaceChildren();
    this.note.textContent = "";
    if (!focus) return;
    const { heads } = this.view.state, isQuery = focus.side === "query";
    const weights = isQuery ? layer.row(heads, focus.place) : layer.column(heads, focus.place);
    const token = (isQuery ? map.queries : map.keys)[focus.place], others = isQuery ? map.keys : map.queries;
    const [active, passive] = map.kind === "saliency" ? ["depends on", "influences"] : ["attends to", "is attended to by"];
    const cell = focus.other !== undefined ? ` “${others[focus.other]}” (${focus.other}) with weight ${weights[focus.other].toFixed(3)}` : "";
    this.title.textContent = `“${token}” (${focus.place}) ${isQuery ? active : passive}${cell}`;
    const best = strongest(weights, SHOWN).filter((place) => weights[place] >= LEAST);
    this.list.replaceChildren(...best.map((place) => this.answer(others[place], place, weights[place], focus)));
    this.note.textContent = heads.length > 1 ? `Each weight is the mean of the ${heads.length} checked heads.` : "";
    const first = best.slice(0, 3).map((place) => `${others[place]} ${weights[place].toFixed(2)}`).join(", ");
    this.timer = setTimeout(() => { this.aloud.textContent = `${this.title.textContent}: ${first}`; }, QUIET);
    const other = focus.other === undefined ? best[0] : focus.other;
    const pair = isQuery ? [focus.place, other] : [other, focus.place];
    if (other !== undefined) this.explain(map, layer, ...pair);
    if (["cross", "decoder"].includes(map.kind) && pair[0] !== undefined) this.predict(pair[0]);
  }

  answer(token, place, weight, focus) {
    const bar = make("span", { className: "ch-bar", "aria-hidden": "true" });
    bar.style.width = `${100 * weight}%`;
    const number = make("span", { className: "ch-number", textContent: weight.toFixed(3) });
    const word = make("span", { className: "ch-word", dir: "auto", textContent: `${token} (${place})` });
    const item = make("li", { className: place === focus.other ? "ch-chosen" : "" }, word, make("span", { className: "ch-track" }, bar), number);
    item.addEventListener("click", () => this.view.pin({ ...focus, other: place }));
    return item;
  }

  // q · k, divided by √d_k, masked, softmax: in the chosen head where the weight is largest.
  async explain(map, layer, query, key) {
    const { state, store } = this.view, current = this.current, products = store.products(state.map, state.layer);
    if (!products) return;
    const head = state.heads.reduce((best, one) => (layer.at(one, query, key) > layer.at(best, query, key) ? one : best));
    const scores = (await products)(head, query);
    if (this.current !== current) return;
    const root = Math.sqrt(map.d_k), visible = (at) => !map.causal || at <= query;
    const scaled = scores.map((score) => score / root), shown = scaled.filter((_, at) => visible(at));
    const most = Math.max(...shown), total = shown.reduce((sum, score) => sum + Math.exp(score - most), 0);
    const weight = visible(key) ? Math.exp(scaled[key] - most) / total : 0;
    const steps = [
      ["q · k", scores[key].toFixed(2)],
      [`÷ √d_k = √${map.d_k}`, scaled[key].toFixed(2)],
      ["mask", visible(key) ? "visible" : "hidden: −∞"],
      [`softmax over ${shown.length} ${shown.length === 1 ? "key" : "keys"}`, weight.toFixed(3)],
    ];
    const heading = `How the weight ${map.queries[query]} → ${map.keys[key]} arises in head ${map.heads[head]}`;
    const table = make("dl", { className: "ch-steps" }, ...steps.flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })]));
    const formula = make("p", { className: "ch-formula", textContent: "softmax(mask(q · k / √d_k))" });
    this.arises.replaceChildren(make("h2", { textContent: heading }), formula, table);
    this.arises.hidden = false;
  }

  predict(position) {
    const { predictions } = this.view.payload;
    if (!predictions || !predictions[position]) return;
    const { prefix, tokens } = predictions[position];
    const rows = tokens.map(([token, probability]) => {
      const bar = make("span", { className: "ch-bar", "aria-hidden": "true" });
      bar.style.width = `${100 * probability}%`;
      const number = make("span", { className: "ch-number", textContent: `${(100 * probability).toFixed(1)} %` });
      return make("li", {}, make("span", { className: "ch-word", dir: "auto", textContent: token }), make("span", { className: "ch-track" }, bar), number);
    });
    const heading = prefix ? `Next token after “${prefix}”` : "First token";
    this.next.replaceChildren(make("h2", { textContent: heading }), make("ol", { className: "ch-answers" }, ...rows));
    this.next.hidden = false;
  }
}

export function card(title, className, ...children) {
  return make("section", { className: `ch-card ${className}` }, ...(title ? [make("h2", { textContent: title })] : []), ...children);
}
