import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from './environment.mjs';

const read = (path) => readFileSync(join(repositoryRoot, path), 'utf8');
const workspace = read('pnpm-workspace.yaml');
/** The top-level scalar with this key. */
const setting = (name) => new RegExp(`^${name}: (.+)$`, 'm').exec(workspace)?.[1];
/** The top-level list with this key. */
const listed = (name) => {
  const [, items = ''] = new RegExp(`^${name}:\\n((?:  - .+\\n|  #.*\\n)*)`, 'm').exec(workspace) ?? [];
  return [...items.matchAll(/^ {2}- '?([^'\n]+)'?$/gm)].map(([, item]) => item);
};
/** Locked packages with their resolutions. */
const locked = new Map(
  [
    ...read('pnpm-lock.yaml')
      .split('\npackages:\n')[1]
      .split('\nsnapshots:\n')[0]
      .matchAll(/^ {2}'?([^'\n]+?)'?:\n {4}resolution: (.+)$/gm),
  ].map(([, id, resolution]) => [id, resolution]),
);

describe('the policy for packages', () => {
  it('the policy rejects versions younger than a week, lost provenance, and transitive dependencies from git or a URL', () => {
    expect({
      age: Number(setting('minimumReleaseAge')),
      strict: setting('minimumReleaseAgeStrict'),
      trust: setting('trustPolicy'),
      exotic: setting('blockExoticSubdeps'),
    }).toEqual({ age: 7 * 24 * 60, strict: 'true', trust: 'no-downgrade', exotic: 'true' });
  });

  it('exceptions name single locked versions', () => {
    const exceptions = [...listed('minimumReleaseAgeExclude'), ...listed('trustPolicyExclude')];
    expect(exceptions.filter((each) => !/^@?[^@ ]+@\d+\.\d+\.\d+[^ |]*$/.test(each))).toEqual([]);
    expect(exceptions.filter((each) => !locked.has(each))).toEqual([]);
  });

  it('the lock file has the registry hash of every package', () => {
    expect(locked.size).toBeGreaterThan(500);
    expect([...locked].filter(([, resolution]) => !/^\{integrity: sha512-[^,]+\}$/.test(resolution))).toEqual([]);
  });

  it('the update bot waits as long as pnpm and finds the versions outside of package manifests', () => {
    const { minimumReleaseAge, customManagers } = JSON.parse(read('renovate.json'));
    const texts = globSync(['hack/run/install.mjs', 'packages/{testkit,dev-servers}/src/**/*.ts'], {
      cwd: repositoryRoot,
    })
      .filter((path) =>
        customManagers.some(({ managerFilePatterns: [file] }) => new RegExp(file.slice(1, -1)).test(path)),
      )
      .map(read);
    const found = customManagers.map(({ matchStrings: [match] }) =>
      texts.flatMap((text) => [...text.matchAll(new RegExp(match, 'g'))]),
    );
    const goPrograms = texts.flatMap((text) => text.match(/from: \{ package: '/g) ?? []);
    expect(minimumReleaseAge).toBe('7 days');
    expect(found.map(({ length }) => length)).toEqual([1, goPrograms.length]);
  });
});
