import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { packPackage } from '../../packages/testkit/dist/packed-package.js';
import { buildCtl } from '../ctl/build-ctl.mjs';
import { sbomFile } from '../images/sbom.mjs';
import { packChart } from '../run/chart.mjs';
import { repositoryRoot } from '../run/environment.mjs';
import { writeChecksums } from './checksums.mjs';
import { releaseImages } from './images.mjs';
import { publishedPackages, publishPackages } from './packages.mjs';
import { provenance } from './provenance.mjs';

/**
 * Builds a release and publishes it: images for all platforms with signed statements about contents and build, the chart, whose
 * default registry has the images, and npm packages. Writes the release files to `out`.
 *
 * @param {object} options
 * @param {string} options.prefix registry of images and chart, such as `ghcr.io/team`
 * @param {string} options.version
 * @param {string} options.out folder, which is emptied first
 * @param {string} options.notes of the version, in Markdown
 * @param {{ commit: string, source: string }} options.revision
 * @param {string[]} options.platforms
 * @param {object[]} options.services entries of `services`
 * @param {string} [options.base]
 * @param {ReturnType<typeof import('./registry.mjs').openRegistry>} options.registry
 * @param {ReturnType<typeof import('./signing.mjs').createSigner>} options.signer
 * @param {boolean} [options.plainHttp]
 * @param {{ registry?: string, dryRun: boolean }} options.npm
 * @param {{ platforms?: string[], baseUrl?: string, homepage?: string }} [options.ctl] options of `buildCtl`
 * @returns {Promise<{ images: import('./images.mjs').ReleasedImage[], chart: string }>} `chart`: reference with digest
 * @throws RunError
 */
export async function publishRelease(options) {
  const {
    prefix,
    version,
    out,
    notes,
    revision,
    platforms,
    signer,
    npm,
    plainHttp = false,
    report = console.log,
  } = options;
  const startedAt = new Date();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, 'sboms'), { recursive: true });
  writeFileSync(join(out, 'notes.md'), `${notes}\n`);

  const parameters = {
    version,
    registry: prefix,
    platforms,
    ...(options.base === undefined ? {} : { base: options.base }),
  };
  const statement = join(out, 'provenance.json');
  const built = provenance({ root: repositoryRoot, ...revision, parameters, startedAt });
  writeFileSync(statement, `${JSON.stringify(built, null, 2)}\n`);

  const images = await releaseImages({ ...options, tag: version, revision: revision.commit });
  for (const { name, ref, tag, platforms: each } of images) {
    report(`Signing ${tag}…`);
    const sbom = join(out, 'sboms', basename(sbomFile(name)));
    copyFileSync(sbomFile(name), sbom);
    await signer.sign(ref);
    const repository = ref.slice(0, ref.indexOf('@'));
    for (const one of [ref, ...each.map(({ digest }) => `${repository}@${digest}`)]) {
      await signer.attest(one, 'cyclonedx', sbom);
      await signer.attest(one, 'slsaprovenance1', statement);
    }
  }
  writeFileSync(
    join(out, 'images.txt'),
    images.map(({ tag, ref }) => `${tag}${ref.slice(ref.indexOf('@'))}\n`).join(''),
  );

  const chart = await publishChart({ prefix, out, signer, statement, plainHttp, report });
  report('Building uswarmctl…');
  await buildCtl({ out, ...options.ctl });

  const packages = publishedPackages();
  report(`${npm.dryRun ? 'Checking' : 'Publishing'} the npm packages…`);
  for (const folder of packages) await packPackage(folder, out);
  await publishPackages(packages, npm);
  await signer.signFile(writeChecksums(out));
  return { images, chart };
}

async function publishChart({ prefix, out, signer, statement, plainHttp, report }) {
  report('Publishing the chart…');
  const lines = await packChart({ out, registry: prefix, push: `oci://${prefix}/charts`, 'plain-http': plainHttp });
  const digest = lines.find((line) => line.startsWith('Digest: ')).slice('Digest: '.length);
  const ref = `${prefix}/charts/uswarm@${digest}`;
  await signer.sign(ref);
  await signer.attest(ref, 'slsaprovenance1', statement);
  return ref;
}
