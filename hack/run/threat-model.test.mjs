import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
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
