import { describe, expect, it } from "vitest";
import { Stages } from "../../../src/lib/layout/stages.svelte";

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

describe("Stages", () => {
  it("come frame by frame, to the last", async () => {
    const stages = new Stages(3);
    const reached = [stages.reached];
    for (let count = 0; count < 4; count++) {
      await frame();
      reached.push(stages.reached);
    }
    expect(reached).toEqual([1, 2, 3, 3, 3]);
  });

  it("stop with the page", async () => {
    const stages = new Stages(3);
    stages.stop();
    await frame();
    expect(stages.reached).toBe(1);
  });
});
