// The JSON document of the proof, which schema.json describes.

export const documentOf = (records) => ({
  format: "headwise gpu-proof",
  version: 2,
  date: new Date().toISOString(),
  hosts: records,
});

/** The beginning of why a part of the proof stopped, if it has thrown. */
export const FAILED = "failed: ";

/** Whether no case of a record is wrong. A host without an adapter has no cases. */
export function isRight({ failure, stopped = "", table = [], speed = [] }) {
  const isSound = (each) => each.failure === undefined && !(each.wrong?.length > 0);
  return failure === undefined && !stopped.startsWith(FAILED) && [...table, ...speed].every(isSound);
}
