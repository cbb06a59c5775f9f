import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { nodeBinary, serviceEnvironment } from '../run/environment.mjs';
import { fingerprint } from '../run/fingerprint.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

const WEB = 'packages/web';

/** The built page, relative to the root. */
export const PAGE = `${WEB}/dist/page`;

/** Contains the page's fingerprint in dist/page, relative to the root. */
export const PAGE_STAMP = `${WEB}/dist/.page`;

/** Bundles the page with Vite, unless nothing has changed. @throws RunError with Vite's messages */
export async function writePage(root) {
  const wanted = stateOf(root);
  const stamp = join(root, PAGE_STAMP);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const folder = join(root, WEB);
  const { code, output } = await runQuietly(nodeBinary, [join(folder, 'node_modules/vite/bin/vite.js'), 'build'], {
    cwd: folder,
    // Tests also build. With their NODE_ENV, the page would contain the development build of React.
    env: { ...serviceEnvironment(), NODE_ENV: 'production' },
  });
  if (code !== 0) throw new RunError(`${tail(output)}\n\nThe page could not be bundled: see above.`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

/** Files whose code is in the built page, relative to the root. */
export const pageInputs = (root) => JSON.parse(readFileSync(join(root, PAGE, '.vite/inputs.json'), 'utf8'));

/** Changes with the sources, the configuration and the installed packages. */
function stateOf(root) {
  const folders = [`${WEB}/src`, `${WEB}/public`, 'packages/client/src'];
  const sources = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map(({ parentPath, name }) => relative(root, join(parentPath, name))),
  );
  return fingerprint(root, [...sources, `${WEB}/index.html`, `${WEB}/vite.config.ts`, 'pnpm-lock.yaml']);
}
