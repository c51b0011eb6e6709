/**
 * Makes dist-demo/site from dist-demo/page, the model and a service worker. Any static host can serve this folder, also
 * as a subfolder. After the first visit the lab works without a network, and the model too once a page has loaded it.
 * The lab has threads even if the host does not send the headers for them.
 */
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BUILT = path.resolve(HERE, "../../dist-demo");

/** Writes the folder and returns its path. */
export function buildSite() {
  const site = path.join(BUILT, "site");
  rmSync(site, { recursive: true, force: true });
  cpSync(path.join(BUILT, "page"), site, { recursive: true });
  cpSync(path.join(BUILT, "model"), path.join(site, "model"), { recursive: true });
  cpSync(path.join(BUILT, "decoders"), path.join(site, "decoders"), { recursive: true });
  cpSync(path.join(HERE, "offline/register.js"), path.join(site, "register.js"));
  const index = path.join(site, "index.html");
  const registration = '<script type="module" src="./register.js"></script>\n  </head>';
  writeFileSync(index, readFileSync(index, "utf8").replace("</head>", registration));
  writeServiceWorker(site);
  return site;
}

function writeServiceWorker(site) {
  const files = readdirSync(site, { recursive: true })
    .filter((file) => statSync(path.join(site, file)).isFile())
    .map((file) => file.replaceAll(path.sep, "/"))
    .sort();
  const isModel = (file) => /^(model|decoders)\//.test(file);
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(site, file)));
  const filled = readFileSync(path.join(HERE, "offline/serviceWorker.js"), "utf8")
    .replace("__VERSION__", hash.digest("hex").slice(0, 16))
    .replace("= __PAGE__", "= " + JSON.stringify(["./", ...files.filter((file) => !isModel(file))]))
    .replace("= __MODEL__", "= " + JSON.stringify(files.filter(isModel)));
  writeFileSync(path.join(site, "serviceWorker.js"), filled);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) console.log(buildSite());
