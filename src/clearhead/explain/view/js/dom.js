// Making elements.

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

// A canvas as sharp as the screen; draws in CSS pixels.
export function sharpen(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

// At most one call a frame, with the latest arguments.
export function onceAFrame(work) {
  let waiting = null;
  return (...given) => {
    if (waiting === null) requestAnimationFrame(() => { const now = waiting; waiting = null; work(...now); });
    waiting = given;
  };
}
