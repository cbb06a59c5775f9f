import { readFile, stat } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { repositoryFile } from './rendering.js';

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

it('every point of the score sheet that we claim names a test, and every test that is named is there', async () => {
  const rows = await sheet();
  expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, index) => index + 1));
  for (const [, point, ...cells] of rows) {
    const [ours, shownBy] = cells.slice(-2) as [string, string];
    expect(ours).toMatch(/^(Y|part|open)$/);
    if (ours !== 'open') expect([point, filesIn(shownBy)]).not.toEqual([point, []]);
  }
  const page = await readFile(repositoryFile('docs/chart.md'), 'utf8');
  const named = filesIn(page);
  expect(named.length).toBeGreaterThan(30);
  for (const path of named) await stat(repositoryFile(path.replace(/[*].*$/, '')));
});
