// Serves web/dist with the policy of the real server, and hands /api to one that runs.
//
//   node dev/serve.mjs [--port 9000] [--api 8765] [--many 200000]
//
// With --many, the collection pretends to be that large, its pictures coming again and again.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const port = option("port", 9000);
const api = option("api", 8765);
const many = option("many", 0);
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; font-src 'self'";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
let real = 1;

function proxy(incoming, outgoing, path, change) {
  const onward = request({ host: "127.0.0.1", port: api, path, method: incoming.method, headers: incoming.headers }, (answer) => {
    if (!change) {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
      return;
    }
    let text = "";
    answer.on("data", (part) => (text += part));
    answer.on("end", () => {
      outgoing.writeHead(answer.statusCode, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(change(JSON.parse(text))));
    });
  });
  // As if there were no proxy: the connection breaks.
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
}

function grown(info) {
  real = info.pictures || 1;
  return { ...info, pictures: many };
}

function pretend(incoming, outgoing, url) {
  const parts = url.pathname.split("/").slice(3);
  if (parts.length === 1 && parts[0] === "collections") return proxy(incoming, outgoing, incoming.url, (list) => list.map(grown));
  if (parts.length === 2 && parts[0] === "collections") return proxy(incoming, outgoing, incoming.url, grown);
  if (parts[2] === "events") return outgoing.writeHead(200, { "content-type": "text/event-stream" }).write(": quiet\n\n");
  if (parts[2] === "pictures" && parts.length === 3) {
    const offset = Number(url.searchParams.get("offset"));
    const length = Math.max(0, Math.min(Number(url.searchParams.get("limit")), many - offset));
    const pictures = Array.from({ length }, (_, i) => ({ id: offset + i, name: `many/${offset + i + 1}.jpg` }));
    outgoing.writeHead(200, { "content-type": "application/json" });
    return outgoing.end(JSON.stringify({ total: many, offset, pictures }));
  }
  if (parts[2] === "pictures") return proxy(incoming, outgoing, url.pathname.replace(`/${parts[3]}/`, `/${1 + (Number(parts[3]) % real)}/`));
  return proxy(incoming, outgoing, incoming.url);
}

createServer((incoming, outgoing) => {
  const url = new URL(incoming.url, "http://localhost");
  if (url.pathname.startsWith("/api/")) return many ? pretend(incoming, outgoing, url) : proxy(incoming, outgoing, incoming.url);
  const file = join(dist, normalize(url.pathname === "/" ? "/index.html" : url.pathname));
  if (!existsSync(file) || !statSync(file).isFile()) return outgoing.writeHead(404).end();
  outgoing.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP });
  createReadStream(file).pipe(outgoing);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
