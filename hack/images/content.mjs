import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { RunError } from '../run/run-error.mjs';
import { collectPackages } from './package-graph.mjs';

/**
 * A file with the content of `source` or `text`, or a symbolic link to `target`. `layer` is a folder in the build context,
 * `path` is relative to it; `mode` defaults to the source's.
 *
 * @typedef {{ path: string, layer: string, source?: string, text?: string, target?: string,
 *   mode?: number }} Entry
 */

/** Files that are not used at run time: types, TypeScript, maps, prose, binaries for other runtimes. */
const NOT_AT_RUN_TIME =
  /\.(?:[cm]?ts|map|md|flow|bare|tsbuildinfo)$|(?:^|\/)(?:readme|changelog|history)(?:\.(?:txt|rst|markdown))?$/i;
const CODE = /\.(?:[cm]?[jt]s|json)$/;
const LICENCE = /(?:^|\/)(?:licen[cs]e|notice|copying)[^/]*$/i;

/**
 * The content of a program's image: the program in `folder` and its packages.
 *
 * @param {object} options
 * @param {string} options.folder
 * @param {string} options.root workspace root
 * @param {string[]} [options.files] files and folders besides `dist`
 * @param {string[]} [options.dependencies] the needed dependencies; by default all
 * @returns {Entry[]}
 * @throws RunError if a package is not built or not installed
 */
export function programContent({ folder, files = [], dependencies, root }) {
  const entries = [];
  for (const found of collectPackages(folder, root, dependencies)) {
    // From our packages, only compiled files whose source still exists.
    const ours = !found.folder.includes('/node_modules/');
    const paths = ours ? ownFiles(found.folder, found.place === '' ? files : []) : packageFiles(found.folder);
    const layer = ours ? 'app' : 'modules';
    for (const path of paths) {
      entries.push({ path: posix.join(found.place, path), layer, source: join(found.folder, path) });
    }
    for (const [name, place] of found.links) entries.push({ ...linkTo(found, name, place), layer });
  }
  return byPath(entries);
}

/** @throws RunError when a program in `dist` is missing */
export function requireBuilt(folder, programs) {
  const missing = programs.find((name) => !existsSync(join(folder, 'dist', `${name}.js`)));
  if (missing !== undefined) throw new RunError(`${folder} is not built: it has no dist/${missing}.js.`);
}

/** Licence files for packages that an image has only in a bundle. @returns {Entry[]} */
export function licenceContent(packages) {
  return packages.flatMap(({ folder, manifest: { name, version } }) =>
    packageFiles(folder)
      .filter((path) => LICENCE.test(path) && !CODE.test(path))
      .map((path) => ({
        path: posix.join('licenses', `${name}@${version}`, path),
        layer: 'modules',
        source: join(folder, path),
      })),
  );
}

/** All files in `folder`, below `path` in the image. @returns {Entry[]} */
export function folderContent(folder, { layer, path = '', skip = () => false }) {
  const files = walk(folder).filter((file) => !skip(file));
  return files.map((file) => {
    const source = join(folder, file);
    return { path: posix.join(path, file), layer, source };
  });
}

export function byPath(entries) {
  return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** A package resolves others in its parent folder, the program in its `node_modules`. */
export function linkTo({ place, manifest }, name, target) {
  const beside = place === '' ? 'node_modules' : place.slice(0, -manifest.name.length - 1);
  const path = posix.join(beside, name);
  return { path, target: posix.relative(posix.dirname(path), target) };
}

/** @param {string} path below a package's folder */
export function neededAtRunTime(path) {
  return LICENCE.test(path) || !NOT_AT_RUN_TIME.test(path);
}

function packageFiles(folder) {
  return walk(folder).filter(neededAtRunTime);
}

function ownFiles(folder, files) {
  if (!existsSync(join(folder, 'dist'))) throw new RunError(`${folder} is not built: it has no dist.`);
  const compiled = walk(folder, 'dist').filter(
    (path) => path.endsWith('.js') && existsSync(join(folder, sourceOf(path))),
  );
  return ['package.json', ...compiled, ...files.flatMap((name) => walk(folder, name))];
}

/** The compiler does not delete a removed source's output. */
export function sourceOf(path) {
  return path.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts');
}

/** File paths in `folder/from`, without installed packages. */
function walk(folder, from = '') {
  const path = join(folder, from);
  if (!lstatSync(path).isDirectory()) return [from];
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .toSorted()
    .flatMap((name) => walk(folder, posix.join(from, name)));
}

/** Hashes the content's bytes, names and modes, and `more`. */
export function contentHash(entries, more = []) {
  const hash = createHash('sha256').update(JSON.stringify(more));
  for (const { path, source, text, target, mode } of entries) {
    hash.update(`\0${path}\0`);
    if (target !== undefined) hash.update(`-> ${target}`);
    else if (text !== undefined) hash.update(text);
    else hash.update(`${(mode ?? fileMode(source)).toString(8)} `).update(readFileSync(source));
  }
  return hash.digest('hex');
}

/** Writes a build context: a folder for each layer. The same content gives the same bytes and times. */
export function writeContext(entries, folder) {
  rmSync(folder, { recursive: true, force: true });
  for (const { path, layer, source, text, target, mode } of entries) {
    const file = join(folder, layer, path);
    mkdirSync(dirname(file), { recursive: true });
    if (target !== undefined) symlinkSync(target, file);
    else if (text !== undefined) writeFileSync(file, text);
    else {
      copyFileSync(source, file);
      chmodSync(file, mode ?? fileMode(source));
    }
  }
  setTimes(folder);
}

/** Sets the times for a folder, and everything in it, to the same moment. */
export function setTimes(path) {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) setTimes(join(path, name));
  lutimesSync(path, 0, 0);
}

function fileMode(file) {
  return (statSync(file).mode & 0o100) === 0 ? 0o644 : 0o755;
}
