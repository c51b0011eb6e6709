import { test } from "@jest/globals";

import { expectBothWays } from "../pages.js";
import { bundle, pageProject } from "../pageProject.js";

const project = pageProject();

test("a page that Vite built without configuration computes, with threads where it is isolated", async () => {
  await expectBothWays(project.browser, await bundle("vite", project.consumer));
});
