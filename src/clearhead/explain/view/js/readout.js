// In words and numbers: what the word under the pointer looks at. Read aloud, too.

import { make } from "./dom.js";
import { strongest } from "./weights.js";

const SHOWN = 8, LEAST = 0.0005, QUIET = 350; // milliseconds of rest before it is read aloud

export class Readout {
  constructor(view) {
    this.view = view;
    this.title = make("p", { className: "ch-asked" });
    this.list = make("ol", { className: "ch-answers" });
    this.aloud = make("p", { className: "ch-aloud", "aria-live": "polite" });
    this.element = make("div", { className: "ch-readout" }, this.title, this.list, this.aloud);
    this.say(null);
  }

  say(focus, map, layer) {
    clearTimeout(this.timer);
    if (!focus) {
      this.title.textContent = "Point at a word, or walk with Tab and the arrow keys, to see its weights.";
      this.list.replaceChildren();
      return;
    }
    const { heads } = this.view.state, asks = focus.side === "query";
    const numbers = asks ? layer.row(heads, focus.place) : layer.column(heads, focus.place);
    const word = (asks ? map.queries : map.keys)[focus.place], others = asks ? map.keys : map.queries;
    const [does, suffers] = map.kind === "saliency" ? ["hangs on", "matters to"] : ["looks at", "is looked at by"];
    const cell = focus.other !== undefined ? ` “${others[focus.other]}” (${focus.other}) with ${numbers[focus.other].toFixed(3)}` : "";
    this.title.textContent = `“${word}” (${focus.place}) ${asks ? does + cell : suffers}`;
    const best = strongest(numbers, SHOWN).filter((place) => numbers[place] >= LEAST);
    this.list.replaceChildren(...best.map((place) => answer(others[place], place, numbers[place])));
    const first = best.slice(0, 3).map((place) => `${others[place]} ${numbers[place].toFixed(2)}`).join(", ");
    this.timer = setTimeout(() => { this.aloud.textContent = `${this.title.textContent}: ${first}`; }, QUIET);
  }
}

function answer(word, place, weight) {
  const bar = make("span", { className: "ch-bar", "aria-hidden": "true" });
  bar.style.width = `${Math.round(90 * weight)}px`;
  const number = make("span", { className: "ch-number", textContent: weight.toFixed(3) });
  return make("li", {}, make("span", { className: "ch-word", dir: "auto", textContent: `${word} (${place})` }), make("span", { className: "ch-track" }, bar), number);
}
