import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';
import { PLATFORMS } from './platforms.mjs';

export const CTL_BINARIES_USAGE = `Usage: npm run ctl-binaries -- [options]
  --out FOLDER         folder of the files (default: dist/ctl)
  --platform NAME      only this platform, can be repeated (default: all)
                       ${PLATFORMS.map(({ name }) => name).join(', ')}
  --base-url URL       folder from which krew downloads the archives
  --homepage URL       homepage in the krew manifest`;

/** @throws RunError with the usage */
export function parseOptions(args) {
  const text = { type: 'string' };
  const options = { out: text, platform: { ...text, multiple: true }, 'base-url': text, homepage: text };
  try {
    const { values } = parseArgs({ args, options, allowPositionals: false });
    const unknown = values.platform?.find((name) => !PLATFORMS.some((platform) => platform.name === name));
    if (unknown !== undefined) throw new Error(`--platform does not know ${unknown}.`);
    return {
      out: values.out ?? join(repositoryRoot, 'dist/ctl'),
      platforms: values.platform,
      baseUrl: values['base-url'],
      homepage: values.homepage,
    };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${CTL_BINARIES_USAGE}`);
  }
}
