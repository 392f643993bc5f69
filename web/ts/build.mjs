// Builds ../static/app.js from src/ and copies uPlot to ../static/vendor. Run by `npm run build`.
//
// The first line of app.js has the hash of all its sources and the hash of the rest of the file. By
// them a unit test checks, without node, that the file was built from these sources.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import esbuild from "esbuild";

const here = new URL("./", import.meta.url);
const read = (name) => readFileSync(new URL(name, here));
const names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json",
  ...readdirSync(new URL("src/", here)).map((name) => `src/${name}`)].sort();

const sources = createHash("sha256");
for (const name of names) sources.update(name).update("\0").update(read(name)).update("\0");

const built = await esbuild.build({
  absWorkingDir: here.pathname,
  entryPoints: ["src/main.ts"],
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  write: false,
});
const body = built.outputFiles[0].text;
const hash = createHash("sha256").update(body).digest("hex");
writeFileSync(
  new URL("../static/app.js", here),
  `// Built by web/ts/build.mjs, not edited. sources=${sources.digest("hex")} body=${hash}\n${body}`,
);

for (const [from, to] of [
  ["dist/uPlot.iife.min.js", "uPlot.iife.min.js"],
  ["dist/uPlot.min.css", "uPlot.min.css"],
  ["LICENSE", "uPlot.LICENSE"],
]) {
  copyFileSync(new URL(`node_modules/uplot/${from}`, here), new URL(`../static/vendor/${to}`, here));
}
