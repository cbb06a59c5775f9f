import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pythonComponents, pythonWheels } from '../code-runner/python-wheels.mjs';
import { bundleReferencePages, REFERENCE_PAGES } from '../reference-pages/bundle.mjs';
import { repositoryRoot } from '../run/environment.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { PAGE, pageInputs } from '../web/write.mjs';
import { baseImage, dockerfile } from './base.mjs';
import { bundledPackages, bundlePrograms } from './bundle.mjs';
import { withNodeOf, writeCompileCache } from './compile-cache.mjs';
import { byPath, contentHash, folderContent, licenceContent, requireBuilt } from './content.mjs';
import { buildImage, inspectImage } from './docker.mjs';
import { collectPackages } from './package-graph.mjs';
import { SBOM_PATH, writeSbom } from './sbom.mjs';
import { services } from './services.mjs';

/**
 * @typedef {object} BuiltImage
 * @property {string} name
 * @property {string} ref
 * @property {string} id
 * @property {number} bytes
 * @property {boolean} built false if an image with the same content exists
 */

/**
 * Builds the service images from their `dist` folders.
 *
 * @param {object} options
 * @param {string} options.registry such as `ghcr.io`
 * @param {string} options.tag `content` for a tag with a content hash
 * @param {string} [options.base] a reference, or `local`; by default the base in the Dockerfile
 * @param {boolean} [options.mayFallBack] use a local base if the Dockerfile's cannot be pulled
 * @param {string[]} [options.only] service names
 * @param {string} [options.platform] such as `linux/arm64`
 * @returns {Promise<BuiltImage[]>}
 * @throws RunError
 */
export async function buildServiceImages({ registry, tag, base, mayFallBack = false, only, platform, report }) {
  const chosen = chosenServices(only);
  const on = await baseImage(base, { mayFallBack, platform, report });
  // With a content tag, another commit alone does not change the image.
  const revision = tag === 'content' ? '' : await gitRevision();
  const images = [];
  for (const service of chosen) {
    const plan = await planImage(service, { on, revision, platform });
    const ref = `${registry}/uswarm/${service.name}:${tag === 'content' ? plan.content.slice(0, 16) : tag}`;
    const prepare = (context) => addCompileCache(join(context, 'app'), service, { on, report });
    const built = await buildImage({ ...plan, ref, dockerfile, platform, prepare, report });
    const { id, bytes } = await inspectImage(ref);
    images.push({ name: service.name, ref, id, bytes, built });
  }
  return images;
}

/** @throws RunError when the service does not exist */
export function chosenServices(only = services.map(({ name }) => name)) {
  return only.map((name) => {
    const service = services.find((candidate) => candidate.name === name);
    if (service !== undefined) return service;
    throw new RunError(
      `Unknown service ${JSON.stringify(name)}. Expected one of: ${services.map((each) => each.name).join(', ')}.`,
    );
  });
}

const folderOf = (name) => join(repositoryRoot, 'services', name);

/**
 * A service image's content without the SBOM: its programs as bundles, the files that they read, and the bundled
 * packages' licences.
 *
 * @returns {Promise<{ entries: import('./content.mjs').Entry[], packages: import('./package-graph.mjs').PlacedPackage[]
 * }>}
 * @throws RunError
 */
export async function serviceFiles({ name, programs, files = [], packageFiles = {}, pythonWheels: wheels, keepNames }) {
  const folder = folderOf(name);
  requireBuilt(folder, programs);
  const bundle = await bundlePrograms({ folder, programs, root: repositoryRoot, keepNames });
  const pages = await pagesOf(folder);
  const known = collectPackages(folder, repositoryRoot);
  const copied = Object.entries(packageFiles).map(([path, from]) => ({
    path,
    layer: 'app',
    source: sourceIn(known, from),
  }));
  const inputs = [...bundle.inputs, ...pages.inputs, ...copied.map(({ source }) => relative(repositoryRoot, source))];
  const packages = bundledPackages(inputs, known, repositoryRoot);
  const beside = files.flatMap((path) => folderContent(join(folder, path), { layer: 'app', path }));
  const manifest = { path: 'package.json', layer: 'app', source: join(folder, 'package.json') };
  const entries = byPath([
    manifest,
    ...bundle.entries,
    ...pages.entries,
    ...beside,
    ...copied,
    ...(wheels === undefined ? [] : wheelEntries(wheels)),
    ...licenceContent(packages.slice(1)),
  ]);
  return { entries, packages };
}

/** @throws RunError if the build could not download them */
function wheelEntries(folder) {
  const wheels = pythonWheels(repositoryRoot);
  if (wheels.length === 0)
    throw new RunError('The packages for Python code are not downloaded: run `npm run build` with pip and network.');
  return wheels.map((path) => ({
    path: `${folder}/${basename(path)}`,
    layer: 'app',
    source: join(repositoryRoot, path),
  }));
}

/** @param {string} from package name and path. @throws RunError */
function sourceIn(packages, from) {
  const owner = packages.find(({ manifest }) => from.startsWith(`${manifest.name}/`));
  if (owner === undefined) throw new RunError(`${from} is in no package of the service.`);
  return join(owner.folder, from.slice(owner.manifest.name.length + 1));
}

/** Browser pages for developers and for users, for the service that serves them. */
async function pagesOf(folder) {
  if (!join(repositoryRoot, REFERENCE_PAGES).startsWith(join(folder, '/'))) return { entries: [], inputs: [] };
  const { files, inputs } = await bundleReferencePages(repositoryRoot);
  const entries = files.map(({ name, text }) => ({ path: `${basename(REFERENCE_PAGES)}/${name}`, layer: 'app', text }));
  const page = folderContent(join(repositoryRoot, PAGE), {
    layer: 'app',
    // Where the bundled `page-server.js` of @uswarm/web looks for it.
    path: 'dist/page',
    skip: (path) => path.startsWith('.vite/'),
  });
  return { entries: [...entries, ...page], inputs: [...inputs, ...pageInputs(repositoryRoot)] };
}

/** A service image's content with its SBOM. @throws RunError */
export async function serviceContent(service) {
  const { entries, packages } = await serviceFiles(service);
  const others = service.pythonWheels === undefined ? [] : pythonComponents(repositoryRoot);
  const text = await writeSbom(service.name, packages, others);
  return byPath([...entries, { path: SBOM_PATH, layer: 'app', text }]);
}

async function addCompileCache(folder, service, { on, report = console.log }) {
  await withNodeOf(on, async (node) => {
    if (node !== undefined) await writeCompileCache({ ...service, folder, node });
    else
      report(
        `  the Node.js of ${on.name} does not run on this machine: ${service.name} has no compile cache and starts more slowly`,
      );
  });
}

/** @param {{ entries?: import('./content.mjs').Entry[] }} options `entries`: the service's content, which is the same for all platforms */
export async function planImage(service, { on, revision, platform, entries }) {
  const { name, nodeOptions = '' } = service;
  const { description, version } = JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8'));
  const files = entries ?? (await serviceContent(service));
  const args = {
    BASE_IMAGE: on.ref,
    BASE_NAME: on.name,
    TITLE: `uswarm ${name}`,
    DESCRIPTION: description,
    VERSION: version,
    REVISION: revision,
    NODE_OPTIONS: nodeOptions,
  };
  return { entries: files, args, content: contentHash(files, [recipe(), on.id, platform ?? null, args]) };
}

/** The build recipe: images with the same recipe differ only in content and base. */
function recipe() {
  const files = [dockerfile, join(repositoryRoot, 'hack/images/compile-cache.mjs')];
  return files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
}

/** The commit, with `-dirty` when the checkout differs from it; empty outside of git. */
export async function gitRevision() {
  const options = { cwd: repositoryRoot };
  const commit = await runQuietly('git', ['rev-parse', 'HEAD'], options);
  if (commit.code !== 0) return '';
  const status = await runQuietly('git', ['status', '--porcelain'], options);
  return `${commit.output.trim()}${status.output.trim() === '' ? '' : '-dirty'}`;
}
