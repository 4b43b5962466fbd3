// The colours of the pictures: for any colour vision, on light and dark ground.

const CATEGORIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8A7F00", "#555555"];
const RAMPS = {
  light: [[255, 255, 255], [207, 229, 242], [127, 187, 221], [46, 134, 189], [10, 92, 147], [6, 48, 79]],
  dark: [[22, 26, 31], [16, 52, 82], [18, 92, 140], [46, 134, 189], [127, 187, 221], [226, 241, 250]],
};

export function headColour(head) {
  return CATEGORIES[head % CATEGORIES.length];
}

// 256 colours from weight 0 to 1, as [r, g, b].
export function ramp(theme) {
  const stops = RAMPS[theme];
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((from, c) => Math.round(from + (place - low) * (stops[low + 1][c] - from)));
  });
}

const MANY = 64; // words, beyond which most weights are small

// From a weight to its colour, the strongest of all being `most`: straight for a sentence,
// by the root for a long text, whose many small weights would all be invisible.
export function colouring(theme, most, words) {
  const colours = ramp(theme), power = words > MANY ? 0.5 : 1;
  return (weight) => colours[Math.min(255, Math.round(255 * (weight / (most || 1)) ** power))];
}

// Behind black or white text: at most as strong as the text stays readable.
export function shade(theme, share) {
  return theme === "dark" ? `rgba(0, 114, 178, ${0.85 * share})` : `rgba(86, 180, 233, ${share})`;
}
