// Service workers may not import() and have no Worker: headwise/inline is for them (and for extensions' workers).

import { beforeAll, expect, test } from "@jest/globals";

import { firstRows } from "../expected.js";
import { closeTo, outcomeIn } from "../pages.js";
import { pageProject } from "../pageProject.js";

const project = pageProject();
beforeAll(() => project.consumer.add("serviceWorker"));

test("headwise/inline computes in a service worker, unbundled", async () => {
  const outcome = await outcomeIn(project.browser, project.consumer.folder, {});
  expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
});
