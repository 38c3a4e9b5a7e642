import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The server's content security policy allows nothing inline: no polyfill script, no data: fonts,
// and nothing small enough to be turned into a data: address.
export default defineConfig({
  base: "/",
  plugins: [svelte()],
  build: {
    outDir: "dist",
    assetsDir: "assets",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    // Colours are chosen by light-dark() where they are used, so it must not be resolved at build time.
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
  // Tests mount components, as a browser does.
  resolve: process.env.VITEST ? { conditions: ["browser"] } : {},
  // One environment for all files of tests: to make one takes longer than the tests of most files.
  test: { environment: "jsdom", include: ["tests/**/*.test.ts"], isolate: false },
});
