import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, repositoryRoot } from '../run/environment.mjs';
import { unpackNpmPackage } from '../run/npm-package.mjs';
import { tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { debianImage, OWN_PLATFORM } from './debian.mjs';
import { inspectImage, tryDocker } from './docker.mjs';

export const dockerfile = join(repositoryRoot, 'Dockerfile');

/** The base image in the Dockerfile. */
export function defaultBase(text = readFileSync(dockerfile, 'utf8')) {
  const [, ref] = /^ARG BASE_IMAGE=(\S+)$/m.exec(text) ?? [];
  if (ref === undefined) throw new Error('the Dockerfile has no base image');
  return ref;
}

/**
 * Provides the base image in Docker's store.
 *
 * @param {string | undefined} wanted a reference, `local`, or undefined for the base in the Dockerfile
 * @param {{ mayFallBack: boolean, platform?: string, report?: (line: string) => void }} options
 * @returns {Promise<{ ref: string, name: string, id: string, node?: string }>} `name` for the label; `node`: the same
 *   Node.js outside of Docker, if available
 * @throws RunError
 */
export async function baseImage(wanted, { mayFallBack, platform, report = console.log }) {
  if (wanted === 'local') return localBase(platform, report);
  const ref = wanted ?? defaultBase();
  const present = platform === undefined ? await inspectImage(ref) : undefined;
  if (present !== undefined) return { ref, name: ref, id: present.id };
  report(`Pulling ${ref}…`);
  const target = platform === undefined ? [] : ['--platform', platform];
  const { code, output } = await tryDocker(['pull', '--quiet', ...target, ref]);
  const pulled = await inspectImage(ref);
  if (code === 0 && pulled !== undefined) return { ref, name: ref, id: pulled.id };
  const reason = tail(output, 1);
  if (wanted !== undefined || !mayFallBack) {
    throw new RunError(`${reason}\n\nThe base image ${ref} cannot be pulled; select another one with --base.`);
  }
  report(`  cannot be pulled (${reason}): building the base from Debian packages`);
  return localBase(platform, report);
}

async function localBase(platform = OWN_PLATFORM, report) {
  const { root, node } = await localRoot(platform, report);
  const ref = await debianImage(root, { report });
  const image = await inspectImage(ref);
  return { ref, name: ref, id: image.id, ...(node === undefined ? {} : { node }) };
}

/**
 * Debian's C and C++ libraries, certificates and time zones, and this checkout's Node.js or its build for another processor.
 *
 * @param {string} platform such as `linux/arm64`
 * @returns {Promise<{ root: import('./debian.mjs').DebianRoot, node?: string }>} `node`: its Node.js, if it runs on this machine
 * @throws RunError
 */
export async function localRoot(platform, report = console.log) {
  const architecture = platform.split('/')[1];
  const isOwn = platform === OWN_PLATFORM;
  const node = isOwn ? nodeBinary : await foreignNode(architecture, report);
  return { root: nodeRoot(node, architecture), ...(isOwn ? { node } : {}) };
}

/** The npm package with this checkout's version of Node.js for another processor. @returns the path of its program */
async function foreignNode(architecture, report) {
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'node_modules/node/package.json'), 'utf8'));
  const name = `node-linux-${architecture === 'amd64' ? 'x64' : architecture}`;
  return join(await unpackNpmPackage({ name, version, report }), 'bin/node');
}

function nodeRoot(node, architecture) {
  return {
    name: 'node',
    architecture,
    packages: ['libc6', 'libstdc++6', 'libgcc-s1', 'ca-certificates', 'tzdata', 'netbase'],
    inputs: [createHash('sha256').update(readFileSync(node)).digest('hex')],
    // Node.js includes OpenSSL.
    remove: ['usr/{bin,sbin}', 'usr/lib/ssl', 'usr/lib/*/{libssl,libcrypto}*', 'usr/lib/*/{engines-3,ossl-modules}'],
    commands: [
      'mkdir -p nodejs/bin etc/ssl/certs',
      `cp -- ${JSON.stringify(node)} nodejs/bin/node; chmod 755 nodejs/bin/node`,
      // Debugging symbols are a seventh of its size. `strip` may not know the format of another processor.
      'if command -v strip >/dev/null; then strip --strip-all nodejs/bin/node || true; fi',
      'cat usr/share/ca-certificates/mozilla/*.crt > etc/ssl/certs/ca-certificates.crt',
      'rm -rf usr/share/ca-certificates',
    ],
  };
}
