import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

// These files do not affect a node image.
const NOT_IN_THE_NODE = new Set(['README.md', 'apt-install.sh', 'dockerd.sh', 'packages.sh', 'runc-nosysres']);

/** A hash that changes if a node image built from the scripts in `folder` may change. */
export function contentKey(folder, { config = '', arch = process.arch } = {}) {
  const hash = createHash('sha256').update(`${arch}\0${config}\0`);
  for (const path of filesOf(folder)) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(folder, path)))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((path) => !NOT_IN_THE_NODE.has(path) && statSync(join(folder, path)).isFile())
    .toSorted();
}
