import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RELEASED_PLATFORMS, services } from '../images/services.mjs';
import { chosenServices } from '../images/service-images.mjs';
import { repositoryRoot } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';

export const RELEASE_USAGE = `Usage: npm run release -- --cut
       npm run release -- --registry REGISTRY (--key KEY | --keyless) [options]
       npm run release -- --dry-run [options]
  --cut                dates the changelog's section, commits and tags the version of this checkout, and begins the next one
  --registry REGISTRY  images are REGISTRY/uswarm/<service>:VERSION, the chart is oci://REGISTRY/charts/uswarm
  --key KEY            sign with this key: a file, env://NAME or the URI of a key management service (cosign)
  --keyless            sign with the identity of the CI job
  --no-log             with --key: do not write to the public transparency log
  --npm                publish the npm packages; without it, npm only checks them
  --download-url URL   where the release's files can be downloaded, for the krew manifest; known in GitHub Actions
  --npm-registry URL   registry of the npm packages
  --platforms A,B      platforms of the images (default: ${RELEASED_PLATFORMS.join(',')})
  --base IMAGE         base image with Node.js; "local" builds one from Debian packages
  --only A,B           only these services: ${services.map(({ name }) => name).join(', ')}
  --plain-http         use http, for a registry on this machine
  --out FOLDER         folder of the files (default: dist/release)
  --dry-run            publish to a registry that exists only during the command, signed with a new key`;

/** @throws RunError with the usage */
export function parseOptions(args) {
  const names = ['registry', 'key', 'download-url', 'npm-registry', 'platforms', 'base', 'only', 'out'];
  const flags = ['cut', 'keyless', 'no-log', 'npm', 'plain-http', 'dry-run'];
  try {
    const { values } = parseArgs({
      args,
      options: {
        ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
        ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean', default: false }])),
      },
      allowPositionals: false,
    });
    const empty = names.find((name) => values[name]?.trim() === '');
    if (empty !== undefined) throw new Error(`--${empty} has no value.`);
    if (values.cut) {
      if (args.length > 1) throw new Error('--cut has no other options.');
      return { cut: true };
    }
    const { registry, key, keyless, out, base } = values;
    const dryRun = values['dry-run'];
    if (dryRun) {
      const contrary = ['registry', 'key', 'keyless', 'no-log', 'npm'].find(
        (name) => values[name] !== undefined && values[name] !== false,
      );
      if (contrary !== undefined)
        throw new Error(`--${contrary} cannot be used with --dry-run, which publishes nothing.`);
    } else if (registry === undefined) throw new Error('--registry is required.');
    else if ((key === undefined) === !keyless) throw new Error('Exactly one of --key and --keyless is required.');
    if (values['no-log'] && key === undefined)
      throw new Error('--no-log requires --key: a CI identity is verified with the log.');
    return {
      cut: false,
      dryRun,
      prefix: registry?.replace(/\/+$/, ''),
      key,
      log: !values['no-log'],
      plainHttp: values['plain-http'],
      platforms: platformsOf(values.platforms),
      services: chosenServices(values.only?.split(',').map((name) => name.trim())),
      base,
      out: out ?? join(repositoryRoot, 'dist/release'),
      downloadUrl: values['download-url'],
      npm: { registry: values['npm-registry'], dryRun: !values.npm },
    };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${RELEASE_USAGE}`);
  }
}

function platformsOf(list) {
  const platforms = list?.split(',').map((platform) => platform.trim()) ?? RELEASED_PLATFORMS;
  const unknown = platforms.find((platform) => !RELEASED_PLATFORMS.includes(platform));
  if (unknown !== undefined)
    throw new Error(`Unknown platform ${JSON.stringify(unknown)}. Expected: ${RELEASED_PLATFORMS.join(', ')}.`);
  return platforms;
}
