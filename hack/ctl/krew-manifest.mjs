import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';

const TEMPLATE = join(repositoryRoot, 'deploy/krew/uswarm.yaml');

/**
 * Completes the template with a version and a platform per archive.
 *
 * @param {object} options
 * @param {string} options.version without `v`
 * @param {import('./build-ctl.mjs').BuiltFile[]} options.archives
 * @param {string} [options.baseUrl] Default: a file name alone, for `kubectl krew install --archive`
 * @param {string} [options.homepage]
 */
export async function krewManifest({ version, archives, baseUrl, homepage }) {
  const { parseDocument } = await import('yaml');
  const manifest = parseDocument((await readFile(TEMPLATE, 'utf8')).replaceAll(/^#.*\n/gm, ''));
  manifest.setIn(['spec', 'version'], `v${version}`);
  if (homepage !== undefined) manifest.setIn(['spec', 'homepage'], homepage);
  manifest.setIn(['spec', 'platforms'], manifest.createNode(archives.map((archive) => platformOf(archive, baseUrl))));
  return manifest.toString({ lineWidth: 0 });
}

function platformOf({ file, platform, sha256 }, baseUrl) {
  const [os, arch] = platform.split('/');
  const name = basename(file);
  const program = os === 'windows' ? 'uswarmctl.exe' : 'uswarmctl';
  return {
    selector: { matchLabels: { os, arch } },
    uri: baseUrl === undefined ? name : `${baseUrl.replace(/\/$/, '')}/${name}`,
    sha256,
    bin: program,
    files: [
      { from: program, to: '.' },
      { from: 'LICENSE*', to: '.' },
    ],
  };
}
