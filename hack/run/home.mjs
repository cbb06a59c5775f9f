import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from './environment.mjs';

/** A user's folders that npm, pnpm and the commands write. */
const FOLDERS = [
  { variable: 'npm_config_cache', beneathHome: '.npm' },
  { variable: 'XDG_CACHE_HOME', beneathHome: '.cache' },
  { variable: 'XDG_DATA_HOME', beneathHome: '.local/share' },
  { variable: 'XDG_STATE_HOME', beneathHome: '.local/state' },
];

/**
 * Replaces unwritable folders with folders in the checkout: a service account may have no home, an image may be read-only, and root
 * may own the home.
 *
 * @returns the sentence that reports it; undefined if all folders can be written
 */
export function replaceUnwritableFolders({
  environment = process.env,
  home = homeOf(environment),
  root = repositoryRoot,
} = {}) {
  const replaced = FOLDERS.flatMap(({ variable, beneathHome }) => {
    const names = Object.keys(environment).filter((name) => name.toLowerCase() === variable.toLowerCase());
    const chosen = names.map((name) => environment[name]).find(Boolean);
    const folder = chosen ?? join(home, beneathHome);
    if (isWritable(folder)) return [];
    // npm reads its settings in any case.
    for (const name of names) delete environment[name];
    environment[variable] = join(root, '.cache/home', beneathHome);
    return [{ variable, folder }];
  });
  const [first] = replaced;
  if (first === undefined) return undefined;
  const variables = replaced.map(({ variable }) => variable).join(', ');
  return `${first.folder} cannot be written, so caches are in ${join(root, '.cache/home')}. To use other folders, set ${variables}.`;
}

function homeOf({ HOME }) {
  try {
    return HOME || homedir();
  } catch {
    // A user without an entry in the list of users.
    return '/';
  }
}

/** True if the folder, or its nearest existing ancestor, is writable. */
function isWritable(folder) {
  let existing = folder;
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
