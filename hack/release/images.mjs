import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultBase, dockerfile, localRoot } from '../images/base.mjs';
import { NODE_PLACES, writeCompileCache } from '../images/compile-cache.mjs';
import { setTimes, writeContext } from '../images/content.mjs';
import { rootHash, withDebianArchive } from '../images/debian.mjs';
import { planImage, serviceContent } from '../images/service-images.mjs';
import { mustRunQuietly, runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { imageConfig } from './dockerfile.mjs';

/**
 * An image of all platforms in a registry.
 *
 * @typedef {object} ReleasedImage
 * @property {string} name
 * @property {string} ref with the index digest
 * @property {string} tag
 * @property {{ platform: string, digest: string }[]} platforms
 */

/**
 * Builds service images without Docker and pushes them, from the same Dockerfile and files as `npm run images`. The same
 * sources and base give the same digests, except for the compile cache.
 *
 * @param {object} options
 * @param {ReturnType<typeof import('./registry.mjs').openRegistry>} options.registry
 * @param {string} options.prefix such as `ghcr.io/team`
 * @param {string} options.tag
 * @param {string[]} options.platforms such as `linux/arm64`
 * @param {object[]} options.services entries of `services`
 * @param {string} options.revision the commit
 * @param {string} [options.base] a reference, or `local`; by default the base in the Dockerfile
 * @returns {Promise<ReleasedImage[]>}
 * @throws RunError
 */
export async function releaseImages({
  registry,
  prefix,
  tag,
  platforms,
  services,
  revision,
  base,
  report = console.log,
}) {
  const digests = new Map(services.map(({ name }) => [name, []]));
  const contents = new Map();
  for (const service of services) {
    report(`Bundling ${service.name}…`);
    contents.set(service.name, await serviceContent(service));
  }
  for (const platform of platforms) {
    await withBase({ registry, prefix, platform, base, report }, async (on) => {
      for (const service of services) {
        report(`Building ${service.name} for ${platform}…`);
        const repository = repositoryOf(prefix, service);
        digests.get(service.name).push(
          await pushImage({
            registry,
            repository,
            service,
            entries: contents.get(service.name),
            platform,
            on,
            revision,
            report,
          }),
        );
      }
    });
  }
  const images = [];
  for (const service of services) {
    const repository = repositoryOf(prefix, service);
    const each = digests.get(service.name);
    const digest = await registry.pushIndex({ repository, tag, digests: each });
    images.push({
      name: service.name,
      ref: `${repository}@${digest}`,
      tag: `${repository}:${tag}`,
      platforms: platforms.map((platform, index) => ({ platform, digest: each[index] })),
    });
  }
  return images;
}

const repositoryOf = (prefix, { name }) => `${prefix}/uswarm/${name}`;

async function pushImage({ registry, repository, service, entries, platform, on, revision, report }) {
  const { args, content } = await planImage(service, { on, revision, platform, entries });
  const config = imageConfig(dockerfile, { ...args, CONTENT: content });
  const draft = mkdtempSync(join(tmpdir(), 'uswarm-release-'));
  try {
    const context = join(draft, 'context');
    writeContext(entries, context);
    if (on.node !== undefined) await writeCompileCache({ ...service, folder: join(context, 'app'), node: on.node });
    else report(`  no Node.js for ${platform} runs here: it has no compile cache and starts more slowly`);
    setTimes(context);
    const layers = [];
    for (const layer of config.layers)
      layers.push(await layerArchive({ draft, context, layer, workdir: config.workdir }));
    return await registry.pushImage({ repository, base: on.ref, platform, layers, config });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A layer's files below the working folder, as tar file with the same bytes for the same files. */
async function layerArchive({ draft, context, layer, workdir }) {
  const root = join(draft, `${layer}-root`);
  mkdirSync(root);
  renameSync(join(context, layer), join(root, workdir));
  setTimes(root);
  const file = join(draft, `${layer}.tar`);
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner'];
  const failure = `The layer ${layer} could not be written`;
  await mustRunQuietly('tar', [...same, '-cf', file, '-C', root, workdir.slice(1)], { failure });
  return file;
}

/**
 * Calls `use` with a base image in a registry. `node`: its Node.js, if it runs on this machine.
 *
 * @param {(on: { ref: string, name: string, id: string, node?: string }) => Promise<void>} use
 */
async function withBase({ registry, prefix, platform, base = defaultBase(), report }, use) {
  if (base === 'local') {
    const { root, node } = await localRoot(platform, report);
    let ref;
    await withDebianArchive(
      root,
      async (layer) => {
        ref = await registry.pushRoot({ repository: `${prefix}/uswarm/base`, platform, layer });
      },
      { report },
    );
    const name = `localhost/uswarm-base/node:${rootHash(root)}`;
    return use({ ref, name, id: name, ...(node === undefined ? {} : { node }) });
  }
  const digest = await registry.digest(base, platform);
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-base-'));
  try {
    const node = await nodeOf({ registry, base, platform, folder });
    await use({ ref: base, name: base, id: digest, ...(node === undefined ? {} : { node }) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the path of a base image's Node.js, or undefined if it does not run on this machine */
async function nodeOf({ registry, base, platform, folder }) {
  const files = join(folder, 'base.tar');
  await registry.exportFiles(base, platform, files);
  for (const place of NODE_PLACES) {
    const { code } = await runQuietly('tar', ['-xf', files, '-C', folder, place.slice(1)], {});
    if (code !== 0) continue;
    const node = join(folder, place);
    return (await runQuietly(node, ['--version'], {})).code === 0 ? node : undefined;
  }
  throw new RunError(`The base image ${base} has no Node.js in ${NODE_PLACES.join(', ')}.`);
}
