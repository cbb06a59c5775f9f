import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { RunError } from '../run/run-error.mjs';

/**
 * A package that a program needs at run time. `place` is its path below the program's folder, `''` for the program
 * itself; `links` maps each dependency to its relative path.
 *
 * @typedef {{ folder: string, manifest: object, place: string, links: Map<string, string> }} PlacedPackage
 */

/**
 * The program in `folder` with its dependencies in pnpm's layout: each package can import exactly its declared
 * dependencies in their installed versions. `wanted` limits the program's direct dependencies.
 *
 * @returns {PlacedPackage[]} the program first
 * @throws RunError when a package is not installed
 */
export function collectPackages(folder, root, wanted) {
  const omitted = omittedDependencies(root);
  const placed = new Map();
  const visit = (real) => {
    const known = placed.get(real);
    if (known !== undefined) return known;
    const manifest = JSON.parse(readFileSync(join(real, 'package.json'), 'utf8'));
    const place = placed.size === 0 ? '' : placeOf(relative(root, real), manifest.name);
    const entry = { folder: real, manifest, place, links: new Map() };
    placed.set(real, entry);
    for (const [name, required] of runtimeDependencies(manifest)) {
      if (place === '' && wanted !== undefined && !wanted.includes(name)) continue;
      const found = findInstalled(real, name, root);
      if (found !== undefined) entry.links.set(name, visit(found).place);
      else if (required && !omitted.has(`${manifest.name}>${name}`))
        throw new RunError(`${manifest.name} needs ${name}, which is not installed.`);
    }
    return entry;
  };
  visit(realpathSync(folder));
  return [...placed.values()];
}

/** The dependencies that `pnpm-workspace.yaml` leaves out, as `package>dependency`. */
function omittedDependencies(root) {
  const file = join(root, 'pnpm-workspace.yaml');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return new Set([...text.matchAll(/^ +['"]?([^'":\s]+>[^'":\s]+)['"]?: ['"]-['"]$/gm)].map(([, pair]) => pair));
}

/** A package's run-time dependencies; true for required ones. */
export function runtimeDependencies({ dependencies = {}, optionalDependencies = {}, peerDependencies = {} }) {
  const optional = [...Object.keys(peerDependencies), ...Object.keys(optionalDependencies)];
  const required = Object.keys(dependencies).filter((name) => !(name in optionalDependencies));
  return new Map([...optional.map((name) => [name, false]), ...required.map((name) => [name, true])]);
}

/** `node_modules/.pnpm/<one folder for each version and set of peers>/node_modules/<name>` */
export function placeOf(path, name) {
  const [, id] = /(?:^|\/)node_modules\/\.pnpm\/([^/]+)\/node_modules\//.exec(path.split(sep).join('/')) ?? [];
  return `node_modules/.pnpm/${id ?? `${name.replace('/', '+')}@workspace`}/node_modules/${name}`;
}

function findInstalled(from, name, root) {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
  }
  return undefined;
}
