import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ATTACKS } from '../../e2e/support/attacks/index.ts';
import { repositoryRoot } from './environment.mjs';

const page = readFileSync(join(repositoryRoot, 'docs/threat-model.md'), 'utf8');
const cases = page.split('\n## Abuse cases\n')[1]?.split('\n## ')[0] ?? '';
const rows = cases.split('\n').filter((line) => line.startsWith('|') && !/^\| (abuse|-)/.test(line));

it('the threat model names a test for every abuse case, and each of them exists', () => {
  expect(rows.length).toBeGreaterThan(30);
  const named = rows.map((row) => ({
    row,
    tests: [...row.matchAll(/`([^` ]+\.test\.(?:ts|mjs))`/g)].map(([, file]) => file),
  }));
  expect(named.filter(({ tests }) => tests.length === 0).map(({ row }) => row)).toEqual([]);
  const files = named.flatMap(({ tests }) => tests);
  expect(files.filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
});

describe('the attack suite', () => {
  it.each(['controller', 'webhook', 'model gateway', 'realtime gateway', 'runtime'])(
    'plays a compromised %s',
    (part) => {
      expect(ATTACKS.filter(({ by }) => by === part).length).toBeGreaterThanOrEqual(8);
    },
  );

  it('has at least 40 attacks, with a separate test each', () => {
    const titles = ATTACKS.map(({ by, tries }) => `${by} ${tries}`);
    expect(titles.length).toBeGreaterThanOrEqual(40);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
  });

  it('names what refuses each attack as the row of that part does', () => {
    const unnamed = ATTACKS.filter(
      ({ by, refusedBy }) =>
        !rows.some((row) => {
          const [, abuse = '', mitigation = ''] = row.split('|');
          return abuse.toLowerCase().includes(`compromised ${by}`) && mitigation.includes(refusedBy);
        }),
    );
    expect(unnamed.map(({ by, tries, refusedBy }) => `${by} ${tries}: ${refusedBy}`)).toEqual([]);
  });

  it('runs every table: a test file of each is named by the threat model', () => {
    const tests = [
      'platform/attacks-controller',
      'platform/attacks-network',
      'platform/attacks-parts',
      'controller/attacks-webhook',
    ];
    expect(tests.filter((test) => !cases.includes(`e2e/${test}.e2e.test.ts`))).toEqual([]);
  });
});

it('the threat model and the security policy link to pages and sections that exist', () => {
  const slug = (heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-');
  const broken = ['SECURITY.md', 'docs/threat-model.md', 'docs/rotating-keys.md'].flatMap((file) => {
    const text = readFileSync(join(repositoryRoot, file), 'utf8');
    return [...text.matchAll(/\]\(([^)#]*)(?:#([^)]+))?\)/g)]
      .filter(([, path, section]) => {
        const target = path === '' ? file : join(file, '..', path);
        if (!existsSync(join(repositoryRoot, target))) return true;
        if (section === undefined) return false;
        const headings = readFileSync(join(repositoryRoot, target), 'utf8').matchAll(/^#+ (.+)$/gm);
        return ![...headings].some(([, heading]) => slug(heading) === section);
      })
      .map(([link]) => `${file}: ${link}`);
  });
  expect(broken).toEqual([]);
});
