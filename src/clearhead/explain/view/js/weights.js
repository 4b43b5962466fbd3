// The weights of one layer as Python packed them: for each row its largest weight in 16 bits, then
// a code for each cell; weight = largest * (code / levels)^2. And the products q · k, if given.

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

  // The weights of a query, averaged over heads.
  row(heads, query, into = new Float32Array(this.keys)) {
    into.fill(0);
    for (const head of heads) {
      const row = head * this.queries + query, start = row * this.keys;
      const scale = this.largest[row] / heads.length;
      for (let key = 0; key < this.keys; key++) into[key] += scale * this.square[this.codes[start + key]];
    }
    return into;
  }

  // The weights of a key in all queries, averaged over heads.
  column(heads, key) {
    const found = new Float32Array(this.queries);
    for (const head of heads)
      for (let query = 0; query < this.queries; query++) found[query] += this.at(head, query, key) / heads.length;
    return found;
  }
}

// The indices of the k largest values above zero, largest first.
export function strongest(values, k) {
  const best = [];
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value <= 0 || (best.length === k && value <= values[best[k - 1]])) continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]] < value) at--;
    best.splice(at, 0, index);
    if (best.length > k) best.pop();
  }
  return best;
}

// Layers are inflated when they are first shown, and kept.
export class Store {
  constructor(payload) {
    this.payload = payload;
    this.kept = new Map();
  }

  layer(map, index) {
    const { blobs, heads, queries, keys } = this.payload.maps[map];
    const read = (bytes) => new Layer(bytes, heads.length, queries.length, keys.length, this.payload.levels);
    return this.once(`weights/${map}/${index}`, () => unpack(blobs[index]).then(read));
  }

  // The products q · k of one layer, as (head, query) -> Float64Array over keys; null if not given.
  products(map, index) {
    const { scores, queries, keys } = this.payload.maps[map];
    if (!scores) return null;
    const { blob, scale } = scores[index], width = keys.length;
    const read = (bytes) => {
      const codes = new Int16Array(bytes.slice().buffer);
      return (head, query) => Float64Array.from(codes.subarray((head * queries.length + query) * width, (head * queries.length + query + 1) * width), (code) => code * scale);
    };
    return this.once(`scores/${map}/${index}`, () => unpack(blob).then(read));
  }

  once(key, work) {
    if (!this.kept.has(key)) this.kept.set(key, work());
    return this.kept.get(key);
  }
}
