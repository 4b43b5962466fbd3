// Elements, canvases, and the colours of the design in both themes.

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

// Sets the size of a canvas in CSS pixels at the resolution of the screen; returns its context.
export function resize(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// At most one call for each frame, with the latest arguments.
export function oncePerFrame(work) {
  let waiting = null;
  return (...given) => {
    if (waiting === null) requestAnimationFrame(() => { const now = waiting; waiting = null; work(...now); });
    waiting = given;
  };
}

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

export const COLOURS = {
  light: { surface: "#ffffff", ink: "#1a1e24", muted: "#5a636e", accent: "#2456c9", heads: ["#2456c9", "#b4500f", "#0f7a63", "#a13a86"] },
  dark: { surface: "#1a1f26", ink: "#e7eaee", muted: "#9aa4b0", accent: "#8db0ff", heads: ["#8db0ff", "#f0a266", "#5fcbb0", "#e39ad0"] },
};
const DASHES = [[], [7, 4], [2, 3]]; // of heads 0-3, 4-7, 8-11 …

export function headColour(theme, head) {
  return COLOURS[theme].heads[head % 4];
}

export function headDash(head) {
  return DASHES[Math.floor(head / 4) % DASHES.length];
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

const MANY = 64; // tokens, beyond which most weights are small

// From a weight to [r, g, b], from the surface to `colour` at weight `most`: linear for a sentence,
// by the square root for a long text, whose many small weights would be invisible.
export function colouring(theme, colour, most, tokens) {
  const from = rgb(COLOURS[theme].surface), to = rgb(colour), power = tokens > MANY ? 0.5 : 1;
  const ramp = Array.from({ length: 256 }, (_, i) => from.map((low, c) => Math.round(low + (i / 255) * (to[c] - low))));
  return (weight) => ramp[Math.min(255, Math.round(255 * (weight / (most || 1)) ** power))];
}
