import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint } from '../run/fingerprint.mjs';
import { bundleReferencePages, REFERENCE_PAGES, SOURCES } from './bundle.mjs';

/** Contains the pages' fingerprint. */
export const STAMP = '.built';

/** Writes the pages for the services that run from the checkout, unless nothing has changed. @throws RunError */
export async function writeReferencePages(root) {
  const folder = join(root, REFERENCE_PAGES);
  const wanted = stateOf(root);
  const stamp = join(folder, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const { files } = await bundleReferencePages(root);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  writeFileSync(stamp, wanted);
}

/** Changes with the sources, the bundler and the installed packages. */
function stateOf(root) {
  const sources = readdirSync(join(root, SOURCES)).map((name) => join(SOURCES, name));
  return fingerprint(root, [...sources, 'hack/reference-pages/bundle.mjs', 'pnpm-lock.yaml']);
}
