import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';
import { PNPM } from '../run/install.mjs';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

/** The SBOM's path in an image, below `/app`. */
export const SBOM_PATH = 'sbom.cdx.json';

/** File with a service's SBOM, outside the image. */
export const sbomFile = (service) => join(repositoryRoot, '.cache/sboms', `${service}.cdx.json`);

/**
 * A service's CycloneDX document as text, also written to `sbomFile`. It lists exactly `packages`; the same packages
 * give the same text.
 *
 * @param {string} service
 * @param {import('./package-graph.mjs').PlacedPackage[]} packages the image's packages, the service first
 * @param {object[]} others components from other registries
 * @throws RunError if pnpm fails
 */
export async function writeSbom(service, packages, others = []) {
  const file = sbomFile(service);
  mkdirSync(dirname(file), { recursive: true });
  const generated = await generate(service, `${file}.generated`);
  const text = `${JSON.stringify(exactSbom(generated, packages, others), null, 2)}\n`;
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
 * `sbom` with exactly the image's packages. pnpm uses the lock file, the image the installed and declared packages:
 * they differ in optional peers and in packages that only types need.
 */
export function exactSbom(
  { serialNumber: _random, metadata, components, dependencies = [], ...rest },
  packages,
  others = [],
) {
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
    components: [...exact, ...others].toSorted((a, b) => (a.purl < b.purl ? -1 : 1)),
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

/** A package's licence: an SPDX id or expression. */
function licensesOf({ license }) {
  if (typeof license !== 'string' || license.startsWith('SEE ')) return {};
  return { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] };
}
