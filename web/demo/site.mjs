/**
 * Makes dist-demo/site from dist-demo/page, the model and a service worker. Any static host can serve this folder, also
 * as a subfolder. After the first visit the lab works without a network, and the model too once a page has loaded it.
 * The lab has threads even if the host does not send the headers for them.
 */
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PICTURE = "firstScreen.png";
const BUILT = path.resolve(HERE, "../../dist-demo");

/**
 * Writes the folder and returns its path.
 *
 * @param {{ address?: string }} options - address: where the folder will be served. Only with it other sites can show a picture
 *   beside a link to the lab: they do not take addresses that are relative to the page.
 */
export function buildSite({ address } = {}) {
  const site = path.join(BUILT, "site");
  rmSync(site, { recursive: true, force: true });
  cpSync(path.join(BUILT, "page"), site, { recursive: true });
  cpSync(path.join(BUILT, "model"), path.join(site, "model"), { recursive: true });
  cpSync(path.join(BUILT, "decoders"), path.join(site, "decoders"), { recursive: true });
  cpSync(path.join(HERE, "offline/register.js"), path.join(site, "register.js"));
  const index = path.join(site, "index.html");
  const registration = '<script type="module" src="./register.js"></script>';
  const added = [registration, ...(address === undefined ? [] : pictureTags(address))].map((tag) => `    ${tag}\n`);
  writeFileSync(index, readFileSync(index, "utf8").replace("  </head>", `${added.join("")}  </head>`));
  if (address !== undefined) cpSync(path.join(HERE, PICTURE), path.join(site, PICTURE));
  writeServiceWorker(site);
  return site;
}

/** The tags that make other sites show the lab's picture beside a link to it. */
function pictureTags(address) {
  const at = (name) => new URL(name, address.endsWith("/") ? address : `${address}/`).href;
  const tags = {
    "og:type": "website",
    "og:title": "headwise lab: see what attention does to a word",
    "og:description": "Type a sentence, watch its heads, change them. Everything is computed in the page, by headwise.",
    "og:url": at("./"),
    "og:image": at(PICTURE),
    "og:image:alt":
      "The lesson of the lab: the words of a sentence as vectors, and a heading that asks which park is meant.",
    "twitter:card": "summary_large_image",
  };
  return Object.entries(tags).map(([name, content]) => `<meta property="${name}" content="${escaped(content)}" />`);
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

function writeServiceWorker(site) {
  const files = readdirSync(site, { recursive: true })
    .filter((file) => statSync(path.join(site, file)).isFile())
    .map((file) => file.replaceAll(path.sep, "/"))
    .sort();
  const isModel = (file) => /^(model|decoders)\//.test(file);
  const versionOf = (listed) => {
    const hash = createHash("sha256");
    for (const file of listed) hash.update(`${file}\0`).update(readFileSync(path.join(site, file)));
    return hash.digest("hex").slice(0, 16);
  };
  const filled = readFileSync(path.join(HERE, "offline/serviceWorker.js"), "utf8")
    .replace("__VERSION__", versionOf(files))
    .replace("__MODEL_VERSION__", versionOf(files.filter(isModel)))
    .replace("= __PAGE__", "= " + JSON.stringify(["./", ...files.filter((file) => !isModel(file))]))
    .replace("= __MODEL__", "= " + JSON.stringify(files.filter(isModel)));
  writeFileSync(path.join(site, "serviceWorker.js"), filled);
}
