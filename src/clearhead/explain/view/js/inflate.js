// From base64 to bytes: by the browser's decompressor, or, without one, by RFC 1951 in JavaScript.

export async function unpack(base64) {
  const packed = fromBase64(base64);
  if (typeof DecompressionStream === "undefined") return inflate(packed);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// A zlib stream: two bytes of header, deflate blocks, and a checksum that is ignored.
export function inflate(packed) {
  const bits = new BitReader(packed, 2);
  const out = new Output(packed.length * 4);
  let last = false;
  while (!last) {
    last = bits.take(1) === 1;
    const kind = bits.take(2);
    if (kind === 0) copyStored(bits, out);
    else if (kind === 1) copyCoded(bits, out, FIXED.lengths, FIXED.distances);
    else if (kind === 2) copyCoded(bits, out, ...readTables(bits));
    else throw new Error("the packed weights are damaged");
  }
  return out.bytes.subarray(0, out.size);
}

class BitReader {
  constructor(bytes, start) {
    this.bytes = bytes;
    this.next = start;
    this.held = 0;
    this.count = 0;
  }

  take(count) {
    while (this.count < count) {
      this.held |= this.bytes[this.next++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << count) - 1);
    this.held >>>= count;
    this.count -= count;
    return value;
  }

  symbol(code) {
    let word = 0, first = 0, index = 0;
    for (let length = 1; length <= 15; length++) {
      word |= this.take(1);
      const count = code.counts[length];
      if (word - count < first) return code.symbols[index + (word - first)];
      index += count;
      first = (first + count) << 1;
      word <<= 1;
    }
    throw new Error("the packed weights are damaged");
  }
}

class Output {
  constructor(room) {
    this.bytes = new Uint8Array(Math.max(room, 1024));
    this.size = 0;
  }

  push(byte) {
    if (this.size === this.bytes.length) {
      const larger = new Uint8Array(this.bytes.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.size++] = byte;
  }
}

function huffman(lengths) {
  const counts = new Uint16Array(16), offsets = new Uint16Array(16);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let i = 1; i < 15; i++) offsets[i + 1] = offsets[i] + counts[i];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
  return { counts, symbols };
}

const FIXED = {
  lengths: huffman(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))),
  distances: huffman(new Array(30).fill(5)),
};

function copyStored(bits, out) {
  bits.held = bits.count = 0;
  const size = bits.bytes[bits.next] | (bits.bytes[bits.next + 1] << 8);
  bits.next += 4;
  for (let i = 0; i < size; i++) out.push(bits.bytes[bits.next++]);
}

function copyCoded(bits, out, lengths, distances) {
  for (;;) {
    const symbol = bits.symbol(lengths);
    if (symbol === 256) return;
    if (symbol < 256) { out.push(symbol); continue; }
    const size = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]);
    const code = bits.symbol(distances);
    const from = out.size - DISTANCE_BASE[code] - bits.take(DISTANCE_BITS[code]);
    for (let i = 0; i < size; i++) out.push(out.bytes[from + i]);
  }
}

function readTables(bits) {
  const literals = bits.take(5) + 257, distances = bits.take(5) + 1, codes = bits.take(4) + 4;
  const lengths = new Array(19).fill(0);
  for (let i = 0; i < codes; i++) lengths[CODE_ORDER[i]] = bits.take(3);
  const code = huffman(lengths), all = [];
  while (all.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) { all.push(symbol); continue; }
    const repeated = symbol === 16 ? all[all.length - 1] : 0;
    let times = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    while (times--) all.push(repeated);
  }
  return [huffman(all.slice(0, literals)), huffman(all.slice(literals))];
}
