import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { docker, megabytes } from '../images/docker.mjs';
import { buildServiceImages } from '../images/service-images.mjs';
import { sbomFile } from '../images/sbom.mjs';
import { services } from '../images/services.mjs';
import { currentVersion, repositoryRoot, seconds } from './environment.mjs';
import { withLock } from './lock.mjs';
import { RunError } from './run-error.mjs';

export const IMAGES_USAGE = `Usage: npm run images -- [options]
  --tag TAG            tag of the images; "content" for a hash of their contents (default: the version)
  --registry REGISTRY  the images are REGISTRY/uswarm/<service>:TAG (default: localhost)
  --push REGISTRY      as --registry, and push the images
  --base IMAGE         base image with Node.js; "local" builds one from Debian packages
  --only A,B           build only these services: ${services.map(({ name }) => name).join(', ')}
  --platform OS/ARCH   target platform, such as linux/amd64
  --test-images        also build the test images of e2e/images
  --list FILE          write {"<name>": "<image>"}
  --save FILE          write all images to one archive for \`kind load image-archive\``;

/** `npm run images`: builds the service images, and optionally pushes them. @returns the exit code */
export async function images(args) {
  const options = parseOptions(args);
  await withLock(() => buildAndDeliver(options), { file: join(repositoryRoot, '.cache/images.lock') });
  return 0;
}

async function buildAndDeliver({ push, list, save, testImages, ...options }) {
  const started = performance.now();
  // Pushed images never use the fallback base.
  const built = await buildServiceImages({ ...options, mayFallBack: push === undefined });
  for (const { ref } of push === undefined ? [] : built) {
    console.log(`Pushing ${ref}…`);
    await docker(['push', '--quiet', ref], { failure: `${ref} could not be pushed` });
  }
  if (testImages) built.push(...(await buildForTests()));
  if (list !== undefined) writeFileSync(list, `${JSON.stringify(references(built), null, 2)}\n`);
  if (save !== undefined) await docker(['save', '--output', save, ...built.map(({ ref }) => ref)]);
  for (const line of report(built)) console.log(line);
  console.log(`SBOMs (CycloneDX): ${dirname(sbomFile(''))}`);
  console.log(`${built.length} images (${seconds(performance.now() - started)}).`);
}

/** Imported after the build, because it uses the compiled testkit. */
async function buildForTests() {
  const { buildTestImages } = await import('../images/test-images.mjs');
  return buildTestImages();
}

function references(built) {
  return Object.fromEntries(built.map(({ name, ref }) => [name, ref]));
}

/** @throws RunError with the usage */
export function parseOptions(args, version = currentVersion()) {
  const names = ['tag', 'registry', 'push', 'base', 'only', 'platform', 'list', 'save'];
  const known = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const flags = { 'test-images': { type: 'boolean', default: false } };
  try {
    const { values } = parseArgs({ args, options: { ...known, ...flags }, allowPositionals: false });
    if (values.push !== undefined && values.registry !== undefined) {
      throw new Error('--push already sets the registry: remove --registry.');
    }
    const empty = names.find((name) => values[name]?.trim() === '');
    if (empty !== undefined) throw new Error(`--${empty} has no value.`);
    const { only, registry, tag = version, 'test-images': testImages, ...rest } = values;
    return {
      ...rest,
      tag,
      testImages,
      registry: (rest.push ?? registry ?? 'localhost').replace(/\/+$/, ''),
      ...(only === undefined ? {} : { only: only.split(',').map((name) => name.trim()) }),
    };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${IMAGES_USAGE}`);
  }
}

/** One line per image, in columns. */
export function report(built) {
  const width = Math.max(...built.map(({ ref }) => ref.length));
  return built.map(
    (image) =>
      `${image.ref.padEnd(width)}  ${megabytes(image.bytes).padStart(9)}  ${image.built ? 'built' : 'unchanged'}`,
  );
}
