import { readFile, stat } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { repositoryFile } from './support/rendering.js';

/** The cells of each row of the first table. */
async function sheet(): Promise<string[][]> {
  const page = await readFile(repositoryFile('docs/chart.md'), 'utf8');
  return page
    .split('\n')
    .filter((line) => /^\| \d+ /.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const filesIn = (text: string): string[] =>
  [...text.matchAll(/`((?:charts|e2e|hack|packages|services)\/[^`\s]*)`/g)].map(([, path]) => path!);

it('docs/chart.md names an existing test for each claim', async () => {
  const rows = await sheet();
  expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, index) => index + 1));
  const claims = rows.map(([, point, ...cells]) => ({ point, ours: cells.at(-2)!, tests: filesIn(cells.at(-1)!) }));
  expect(claims.filter(({ ours }) => !['Y', 'part', 'open'].includes(ours))).toEqual([]);
  expect(claims.filter(({ ours, tests }) => ours !== 'open' && tests.length === 0)).toEqual([]);
  const page = await readFile(repositoryFile('docs/chart.md'), 'utf8');
  const named = filesIn(page);
  expect(named.length).toBeGreaterThan(30);
  for (const path of named) await stat(repositoryFile(path.replace(/[*].*$/, '')));
});
