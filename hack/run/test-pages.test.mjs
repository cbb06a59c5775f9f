import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from './environment.mjs';

/** Pages whose tables name tests, and their number of rows. */
const PAGES = [
  ['docs/faults.md', 70],
  ['docs/realtime.md', 33],
  ['docs/page-states.md', 45],
];

describe.each(PAGES)('%s', (path, leastRows) => {
  const page = readFileSync(join(repositoryRoot, path), 'utf8');
  const [text, index] = page.split('\n## Tests\n');
  const files = new Map([...index.matchAll(/^\| `([\w-]+)` +\| `([^`]+)`/gm)].map(([, name, file]) => [name, file]));

  /** A row names a file, then pieces from its test names. */
  function namedTests(row) {
    const named = [];
    let file;
    for (const [, name, part] of row.matchAll(/`([\w-]+)`|“([^”]+)”/g)) {
      if (name !== undefined && files.has(name)) file = name;
      else if (part !== undefined) named.push({ file, part });
    }
    return named;
  }

  it('names tests that exist', () => {
    const missing = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .flatMap(namedTests)
      .filter(({ file, part }) => {
        const test = files.get(file);
        return test === undefined || !readFileSync(join(repositoryRoot, test), 'utf8').includes(part);
      });
    expect(missing).toEqual([]);
  });

  it('lists each file that it uses, and no other', () => {
    const used = new Set([...text.matchAll(/`([\w-]+)`/g)].map(([, name]) => name).filter((name) => files.has(name)));
    expect([...files.keys()].toSorted()).toEqual([...used].toSorted());
  });

  it('names a test in each row', () => {
    const rows = text.split('\n').filter((line) => line.startsWith('|') && !/^\| (moment|fault|id|-)/.test(line));
    expect(rows.length).toBeGreaterThanOrEqual(leastRows);
    expect(rows.filter((row) => ![...files.keys()].some((name) => row.includes(`\`${name}\``)))).toEqual([]);
  });
});

it('docs/faults.md names a test of the cluster suite for each fault of the cluster, and at least 30 faults', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/faults.md'), 'utf8');
  const [, section = ''] = /\n## Faults of the cluster\n([\s\S]*?)\n## /.exec(page) ?? [];
  const suite = [...page.matchAll(/^\| `([\w-]+)` +\| `e2e\/[^`]+\.e2e\.test\.ts`/gm)].map(([, name]) => name);
  const rows = section.split('\n').filter((line) => line.startsWith('|') && !/^\| (fault|-)/.test(line));
  expect(rows.length).toBeGreaterThanOrEqual(30);
  expect(rows.filter((row) => !suite.some((name) => row.includes(`\`${name}\` “`)))).toEqual([]);
});
