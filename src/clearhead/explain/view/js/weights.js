// The weights of one layer, as Python packed them: for each row its largest weight in 16 bits,
// then a code for each cell; weight = largest * (code / levels)^2.

import { unpack } from "./inflate.js";

export class Layer {
  constructor(bytes, heads, queries, keys, levels) {
    this.heads = heads;
    this.queries = queries;
    this.keys = keys;
    const rows = heads * queries;
    this.largest = new Float32Array(rows);
    for (let row = 0; row < rows; row++) this.largest[row] = (bytes[2 * row] | (bytes[2 * row + 1] << 8)) / 65535;
    this.codes = bytes.subarray(2 * rows);
    this.square = Float32Array.from({ length: 256 }, (_, code) => (code / levels) ** 2);
  }

  at(head, query, key) {
    const row = head * this.queries + query;
    return this.largest[row] * this.square[this.codes[row * this.keys + key]];
  }

  // What a query looks at, averaged over heads.
  row(heads, query, into = new Float32Array(this.keys)) {
    into.fill(0);
    for (const head of heads) {
      const row = head * this.queries + query, start = row * this.keys;
      const scale = this.largest[row] / heads.length;
      for (let key = 0; key < this.keys; key++) into[key] += scale * this.square[this.codes[start + key]];
    }
    return into;
  }

  // Who looks at a key, averaged over heads.
  column(heads, key) {
    const found = new Float32Array(this.queries);
    for (const head of heads)
      for (let query = 0; query < this.queries; query++) found[query] += this.at(head, query, key) / heads.length;
    return found;
  }
}

// The places of the k largest numbers above zero, largest first.
export function strongest(numbers, k) {
  const best = [];
  for (let place = 0; place < numbers.length; place++) {
    const value = numbers[place];
    if (value <= 0 || (best.length === k && value <= numbers[best[k - 1]])) continue;
    let at = best.length;
    while (at > 0 && numbers[best[at - 1]] < value) at--;
    best.splice(at, 0, place);
    if (best.length > k) best.pop();
  }
  return best;
}

// Layers are unpacked when they are first looked at, and kept.
export class Store {
  constructor(payload) {
    this.payload = payload;
    this.layers = new Map();
  }

  layer(map, index) {
    const key = `${map}/${index}`;
    if (!this.layers.has(key)) {
      const { blobs, heads, queries, keys } = this.payload.maps[map];
      const made = unpack(blobs[index]).then(
        (bytes) => new Layer(bytes, heads.length, queries.length, keys.length, this.payload.levels),
      );
      this.layers.set(key, made);
    }
    return this.layers.get(key);
  }
}
