// Starting programs, with everything they say on stderr: stdout belongs to the command that was asked for.

import { spawn } from 'node:child_process';

import { root } from './paths.mjs';

export const say = (line) => console.error(line);

/**
 * Runs a program to its end and fails when it fails.
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, cwd?: string, quiet?: boolean }} options - quiet: output only if it fails
 */
export async function run(program, args, { quiet = false, ...options } = {}) {
  const stdio = quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2];
  const child = spawn(program, args, { cwd: root, stdio, ...options, env: { ...process.env, ...options.env } });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  const code = await ended(child);
  if (code === 0) return;
  process.stderr.write(Buffer.concat(output));
  throw new Error(`${program} ${args.join(' ')}: ended with ${code}`);
}

/** @returns {Promise<number | string>} the exit status, or the signal that ended it */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
}
