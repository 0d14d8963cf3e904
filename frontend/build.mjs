// Writes the page's script and style into the Python package, with the licence of what is in it.
// node build.mjs [FOLDER]: without a folder, into src/recursa/view.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "src", "recursa", "view");
const plain = { absWorkingDir: here, bundle: true, minify: true, charset: "ascii", legalComments: "none", logLevel: "warning" };

await build({ ...plain, entryPoints: ["src/page.js"], outfile: join(target, "page.js"), format: "iife", target: "es2022" });
await build({ ...plain, entryPoints: ["src/page.css"], outfile: join(target, "page.css") });
const licence = await readFile(join(here, "node_modules", "three", "LICENSE"), "utf8");
await writeFile(join(target, "page.LICENSE.txt"), `page.js contains parts of three.js (https://threejs.org):\n\n${licence}`);
