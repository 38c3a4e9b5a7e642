/** The points of a small line, from 0 at the lower edge to `top` at the upper. */
export function points(values: readonly number[], width: number, height: number, margin: number, top: number): { x: number; y: number }[] {
  const greatest = Math.max(top, 1e-9);
  const span = Math.max(1, values.length - 1);
  return values.map((value, index) => ({
    x: round(margin + ((width - 2 * margin) * index) / span),
    y: round(height - margin - (height - 2 * margin) * Math.min(1, Math.max(0, value / greatest))),
  }));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
