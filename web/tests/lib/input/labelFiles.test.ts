import { expect, it } from "vitest";
import { isLabelFile } from "../../../src/lib/input/labelFiles";

it("tells tables of labels from pictures", () => {
  expect(["a.csv", "A.CSV", "b.parquet", "c.json"].every((name) => isLabelFile({ name }))).toBe(true);
  expect(["a.jpg", "csv", "a.csv.png", ""].some((name) => isLabelFile({ name }))).toBe(false);
});
