import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';
import { PNPM } from '../run/install.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

/** Where an image has its SBOM, below the working folder `/app`. */
export const SBOM_PATH = 'sbom.cdx.json';

/** Where the SBOM of a service lies beside the images. */
export const sbomFile = (service) => join(repositoryRoot, '.cache/sboms', `${service}.cdx.json`);

/**
 * The CycloneDX document of a service, as text; also written to `sbomFile`. It names exactly `packages`, and the same
 * packages give the same text.
 *
 * @param {string} service
 * @param {import('./package-graph.mjs').PlacedPackage[]} packages what the image has, the service itself first
 * @throws RunError when pnpm cannot make one
 */
export async function writeSbom(service, packages) {
  const file = sbomFile(service);
  mkdirSync(dirname(file), { recursive: true });
  const generated = await generate(service, `${file}.generated`);
  const text = `${JSON.stringify(exactSbom(generated, packages), null, 2)}\n`;
  writeFileSync(file, text);
  return text;
}

/** The production dependencies, as pnpm lists them from the lock file. */
async function generate(service, file) {
  const args = ['--filter', `./services/${service}`, '--prod', '--lockfile-only', '--out', file];
  const format = ['--sbom-format', 'cyclonedx', '--sbom-spec-version', '1.6', '--sbom-type', 'application'];
  const { code, output } = await runQuietly('npx', ['--yes', PNPM, 'sbom', ...args, ...format], {
    cwd: repositoryRoot,
    env: process.env,
  });
  if (code !== 0) throw new RunError(`The SBOM of ${service} could not be made:\n${output}`);
  const text = readFileSync(file, 'utf8');
  rmSync(file);
  return JSON.parse(text);
}

/**
 * `sbom` with exactly the packages that were placed. pnpm goes by the lock file, the image by what is installed and
 * declared: they differ by optional peers and by what only types need.
 */
export function exactSbom({ serialNumber: _random, metadata, components, dependencies = [], ...rest }, packages) {
  const [program, ...placed] = packages.map(({ manifest }) => manifest);
  const known = new Map(components.map((component) => [component.purl, component]));
  const byPurl = new Map(placed.map((manifest) => [purlOf(manifest), manifest]));
  const exact = [...byPurl].map(([purl, manifest]) => ({
    ...(known.get(purl) ?? plainComponent(purl, manifest)),
    ...licensesOf(manifest),
  }));
  const refs = new Set([purlOf(program), ...exact.map((component) => component['bom-ref'])]);
  const { timestamp: _now, ...describes } = metadata;
  return {
    ...rest,
    metadata: describes,
    components: exact.toSorted((a, b) => (a.purl < b.purl ? -1 : 1)),
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)).toSorted() }))
      .toSorted((a, b) => (a.ref < b.ref ? -1 : 1)),
  };
}

/** @returns {string} `pkg:npm/%40scope/name@1.0.0` */
export const purlOf = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version.replaceAll('+', '%2B')}`;

function plainComponent(purl, { name, version }) {
  const [group, ownName] = name.includes('/') ? name.split('/') : [undefined, name];
  return { type: 'library', name: ownName, version, purl, 'bom-ref': purl, ...(group === undefined ? {} : { group }) };
}

/** As the package states it: an SPDX id or an expression of several. */
function licensesOf({ license }) {
  if (typeof license !== 'string' || license.startsWith('SEE ')) return {};
  return { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] };
}
