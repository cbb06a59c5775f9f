import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { writeContext } from './content.mjs';
import { exactSbom, purlOf, SBOM_PATH, sbomFile } from './sbom.mjs';
import { serviceContent } from './service-images.mjs';
import { services } from './services.mjs';

const SERVICE = 'realtime-gateway';

describe('the SBOM of an image', () => {
  let folder;
  let sbom;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uswarm-sbom-'));
    writeContext(await serviceContent(services.find(({ name }) => name === SERVICE)), folder);
    sbom = JSON.parse(readFileSync(join(folder, 'app', SBOM_PATH), 'utf8'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Packages with code in the image, according to its bundles' source maps. */
  const deployed = () => {
    const dist = join(folder, 'app/dist');
    const sources = globSync(join(dist, '*.map')).flatMap((file) => JSON.parse(readFileSync(file, 'utf8')).sources);
    const folders = new Set(
      sources
        .map((path) => join(repositoryRoot, 'services', SERVICE, 'dist', path))
        .map((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+|^.*\/packages\/[^/]+/.exec(path)?.[0]),
    );
    folders.delete(undefined);
    const own = [...folders].map((path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')));
    return new Set(own.map(({ name, version }) => `${name}@${version}`));
  };
  const named = () =>
    new Set(sbom.components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`));

  it('lists exactly the packages with code in the bundle', () => {
    expect(deployed().size).toBeGreaterThan(30);
    expect([...named()].toSorted()).toEqual([...deployed()].toSorted());
    expect(sbom.components).toHaveLength(named().size);
  });

  it('is a CycloneDX document with a hash of each package from the registry', () => {
    const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'services', SERVICE, 'package.json'), 'utf8'));
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      metadata: { component: { purl: `pkg:npm/%40uswarm/${SERVICE}@${version}` } },
    });
    const hashed = sbom.components.filter(({ externalReferences = [] }) =>
      externalReferences.some(({ hashes = [] }) => hashes.some(({ alg }) => alg === 'SHA-512')),
    );
    expect(hashed.length).toBeGreaterThan(sbom.components.length * 0.8);
  });

  it('covers only packages whose licence files are in the image', () => {
    const licences = globSync(join(folder, 'modules/licenses/**/*'), { withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(licences.some(({ parentPath }) => parentPath.includes('/socket.io@'))).toBe(true);
    expect(licences.length).toBeGreaterThan(sbom.components.length * 0.6);
  });

  it('is also written to a file outside of the image', () => {
    expect(JSON.parse(readFileSync(sbomFile(SERVICE), 'utf8'))).toEqual(sbom);
  });

  it('contains every component that it references', () => {
    const refs = new Set([sbom.metadata.component['bom-ref'], ...sbom.components.map((each) => each['bom-ref'])]);
    const used = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(used.filter((ref) => !refs.has(ref))).toEqual([]);
  });
});

describe('an exact SBOM', () => {
  const placed = (name, version, license) => ({ manifest: { name, version, license } });
  const component = (name, version) => ({
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name}@${version}`,
    'bom-ref': `pkg:npm/${name}@${version}`,
  });
  const generated = {
    bomFormat: 'CycloneDX',
    serialNumber: 'urn:uuid:1',
    metadata: { timestamp: 'now', component: component('program', '1.0.0') },
    components: [component('kept', '1.0.0'), component('not-placed', '1.0.0')],
    dependencies: [
      { ref: 'pkg:npm/program@1.0.0', dependsOn: ['pkg:npm/kept@1.0.0', 'pkg:npm/not-placed@1.0.0'] },
      { ref: 'pkg:npm/not-placed@1.0.0', dependsOn: [] },
    ],
  };
  const packages = [
    placed('program', '1.0.0'),
    placed('kept', '1.0.0', 'MIT'),
    placed('@types/new', '2.0.0', '(MIT OR Apache-2.0)'),
  ];

  it('omits packages outside of the image, adds unknown ones, and includes licences', () => {
    const { components, dependencies } = exactSbom(generated, packages);
    expect(components).toMatchObject([
      { group: '@types', name: 'new', version: '2.0.0', licenses: [{ expression: '(MIT OR Apache-2.0)' }] },
      { name: 'kept', licenses: [{ license: { id: 'MIT' } }] },
    ]);
    expect(components).toHaveLength(2);
    expect(dependencies).toEqual([{ ref: 'pkg:npm/program@1.0.0', dependsOn: ['pkg:npm/kept@1.0.0'] }]);
  });

  it('is reproducible', () => {
    const later = { ...generated, serialNumber: 'urn:uuid:2', metadata: { ...generated.metadata, timestamp: 'later' } };
    expect(exactSbom(later, packages)).toEqual(exactSbom(generated, packages));
  });

  it('encodes scopes and build numbers in purls', () => {
    expect(purlOf({ name: '@a/b', version: '1.0.0+2' })).toBe('pkg:npm/%40a/b@1.0.0%2B2');
  });
});
