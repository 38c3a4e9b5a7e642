/** Where the cells of a grid are: computed, so that a grid may have any number of them. */

export interface GridShape {
  width: number;
  count: number;
  /** The least side of a cell. */
  size: number;
  gap: number;
  /** Where a second part begins, on a row of its own below a heading; `count` if nowhere. */
  split: number;
  /** How much room the heading of the second part takes. */
  splitHeight: number;
}

export interface Layout extends GridShape {
  columns: number;
  cell: number;
  pitch: number;
  /** Rows before the split. */
  upper: number;
  rows: number;
  height: number;
}

export function layOut(shape: GridShape): Layout {
  const { width, count, size, gap } = shape;
  const split = Math.min(Math.max(0, shape.split), count);
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)));
  const cell = Math.max(1, (width - gap * (columns - 1)) / columns);
  const pitch = cell + gap;
  const upper = Math.ceil(split / columns);
  const rows = upper + Math.ceil((count - split) / columns);
  const heading = split < count ? shape.splitHeight : 0;
  const height = rows ? rows * pitch - gap + heading : 0;
  return { ...shape, split, columns, cell, pitch, upper, rows, height };
}

export function isSplit(layout: Layout): boolean {
  return layout.split < layout.count;
}

export function place(layout: Layout, index: number): { x: number; y: number } {
  const { columns, pitch, upper, split, splitHeight } = layout;
  const low = index >= split;
  const local = low ? index - split : index;
  const row = Math.floor(local / columns) + (low ? upper : 0);
  return { x: (local % columns) * pitch, y: row * pitch + (low ? splitHeight : 0) };
}

/** Where the heading of the second part is. */
export function headingTop(layout: Layout): number {
  return layout.upper * layout.pitch;
}

/** The first cell of a row. */
function firstOf(layout: Layout, row: number): number {
  const { columns, upper, split } = layout;
  return row < upper ? row * columns : split + (row - upper) * columns;
}

/** Cells, `[first, end)`, of which some pixel lies between `top` and `bottom`. */
export function cellsBetween(layout: Layout, top: number, bottom: number): [number, number] {
  if (layout.count === 0 || bottom <= 0 || top >= layout.height) return [0, 0];
  const first = rowAt(layout, top);
  const last = rowAt(layout, bottom);
  return [Math.min(layout.count, firstOf(layout, first)), Math.min(layout.count, endOf(layout, last))];
}

function endOf(layout: Layout, row: number): number {
  const end = firstOf(layout, row + 1);
  return row < layout.upper ? Math.min(layout.split, end) : end;
}

/** The row at a height; the heading counts to the row that follows it. */
function rowAt(layout: Layout, y: number): number {
  const { pitch, upper, rows, splitHeight } = layout;
  const inUpper = Math.floor(y / pitch);
  const row = inUpper < upper ? inUpper : Math.max(upper, Math.floor((y - splitHeight) / pitch));
  return Math.min(Math.max(0, row), Math.max(0, rows - 1));
}

/** The cell above (`rows` = -1) or below (1), or further; stays in its column where that row has one. */
export function vertical(layout: Layout, index: number, rows: number): number {
  const { columns, upper, split, count } = layout;
  const low = index >= split;
  const local = low ? index - split : index;
  const row = Math.floor(local / columns) + (low ? upper : 0);
  const target = Math.min(layout.rows - 1, Math.max(0, row + rows));
  if (target === row) return index;
  const end = Math.min(endOf(layout, target), count);
  return Math.min(end - 1, firstOf(layout, target) + (local % columns));
}
