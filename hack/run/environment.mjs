import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RunError } from './run-error.mjs';

export const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** The version of all packages, images and the chart. */
export function currentVersion(root = repositoryRoot) {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}

/** The pinned Node.js from the installed packages. */
export const nodeBinary = join(repositoryRoot, 'node_modules/node/bin/node');

/** Arguments of `nodeBinary` that run jest in the repository's root; jest's own follow. */
export const JEST = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];

/** Required files, which are missing in a partial copy. */
const ESSENTIAL = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.json'];

/** @throws RunError */
export function checkCheckout(root = repositoryRoot, platform = process.platform) {
  if (platform === 'win32') throw new RunError('uswarm does not run on Windows: use WSL.');
  const missing = ESSENTIAL.find((name) => !existsSync(join(root, name)));
  if (missing !== undefined) {
    throw new RunError(`${root} is an incomplete checkout (${missing} is missing): clone the repository again.`);
  }
}

/**
 * Environment for services: all variables except npm's, so that a program behaves equally with and without `npm start`.
 * `node` is the pinned Node.js.
 */
export function serviceEnvironment(environment = process.env) {
  const kept = Object.entries(environment).filter(
    ([name]) => !/^npm_/i.test(name) && name !== 'INIT_CWD' && name !== 'NODE',
  );
  const ours = Object.fromEntries(kept);
  const path = (ours.PATH ?? '').split(delimiter).filter((folder) => !isNpmFolder(folder));
  return { ...ours, PATH: [dirname(nodeBinary), ...path].join(delimiter) };
}

/** npm prepends the `.bin` of every parent folder to PATH. */
function isNpmFolder(folder) {
  return folder.endsWith('/node_modules/.bin') || folder.endsWith('/node-gyp-bin');
}

export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
