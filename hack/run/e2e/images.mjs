import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { megabytes } from '../../images/docker.mjs';
import { buildServiceImages } from '../../images/service-images.mjs';
import { buildTestImages } from '../../images/test-images.mjs';
import { repositoryRoot } from '../environment.mjs';
import { withLock } from '../lock.mjs';
import { mustRun, run } from './commands.mjs';

const OTHER_RUNTIME = 'agent-runtime-other';

/** Tags that are content hashes; `npm run images` uses versions. */
const CONTENT_TAG = /^localhost\/uswarm(-test)?\/[a-z-]+:[0-9a-f]{16}(-other)?$/;

/** Installs the tools that build the test images. @throws RunError */
export async function prepareImages() {
  const script = join(repositoryRoot, 'hack/cluster/packages.sh');
  await mustRun(script, ['images'], { limitS: 900, failure: 'Images for tests cannot be built here' });
}

/** Removes images with previous contents. */
export async function removeOtherImages(images) {
  const { output } = await run('docker', ['images', '--format', '{{.Repository}}:{{.Tag}}']);
  const kept = new Set(Object.values(images));
  const old = output.split('\n').filter((ref) => CONTENT_TAG.test(ref) && !kept.has(ref));
  if (old.length > 0) await run('docker', ['rmi', ...old]);
}

/**
 * Builds the service and test images. Their tags are content hashes, so that a node does not load an image twice.
 *
 * @param {{ local: boolean, report?: (line: string) => void }} options `local`: with the base from Debian packages,
 * otherwise with the public base if it can be pulled
 * @returns {Promise<Record<string, string>>} name → reference
 */
export async function buildImages({ local, report = console.log }) {
  const options = { registry: 'localhost', tag: 'content', mayFallBack: true, report, ...(local && { base: 'local' }) };
  const built = await withLock(
    async () => [...(await buildServiceImages(options)), ...(await buildTestImages({ report }))],
    { file: join(repositoryRoot, '.cache/images.lock'), report },
  );
  for (const { ref, bytes } of built) report(`  ${ref} ${megabytes(bytes)}`);
  const images = Object.fromEntries(built.map(({ name, ref }) => [name, ref]));
  return { ...images, [OTHER_RUNTIME]: await tagAgain(images['agent-runtime']) };
}

/** Another reference to the same image, to create a new Deployment revision. */
async function tagAgain(ref) {
  const other = `${ref}-other`;
  await mustRun('docker', ['tag', ref, other], { failure: 'An image could not be tagged' });
  return other;
}

/** @returns the file with the references for tests */
export function writeImagesFile(images, artifacts) {
  const file = join(artifacts, 'images.json');
  writeFileSync(file, JSON.stringify(images, null, 2));
  return file;
}

/** @returns {Record<string, string>} */
export function readImagesFile(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
