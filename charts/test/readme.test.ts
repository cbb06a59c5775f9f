import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { chartReadme, describeWith } from '@uswarm/testkit';
import { parse } from 'yaml';
import { CHART, repositoryFile } from './support/rendering.js';
import { pathsOf } from './support/value-paths.js';

const README = await readFile(`${CHART}/README.md`, 'utf8');

/** Key → description, from the value tables. */
const rows = new Map(
  [...README.matchAll(/^\| `([\w.]+)` \| \w+ \| .+ \| (.*) \|$/gm)].map(([, key, text]) => [key!, text!]),
);

/** True if a row describes the value or a group that contains it. */
const isDescribed = (path: string): boolean =>
  path.split('.').some((_, index, keys) => rows.has(keys.slice(0, keys.length - index).join('.')));

it('README.md of the chart describes every value', async () => {
  const values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as object;
  expect(pathsOf(values).filter((path) => !isDescribed(path))).toEqual([]);
});

it('README.md of the chart describes only existing values, in sentences', async () => {
  const values = await readFile(`${CHART}/values.yaml`, 'utf8');
  const paths = pathsOf(parse(values) as object);
  const unknown = [...rows.keys()].filter((key) => !paths.some((path) => path === key || path.startsWith(`${key}.`)));
  expect(unknown).toEqual([]);
  expect(rows.size).toBeGreaterThan(150);
  expect([...rows].filter(([, text]) => !/^\S.{6,}/.test(text))).toEqual([]);
});

it('the links of README.md of the chart exist', async () => {
  const links = [...README.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) await readFile(`${CHART}/${link}`, 'utf8');
  const guide = await readFile(repositoryFile('docs/operations.md'), 'utf8');
  for (const requirement of ['Helm 3.16 or newer', 'Kubernetes 1.31 or newer']) {
    expect(README).toContain(requirement);
    expect(guide).toContain(requirement);
  }
});

describeWith('go', 'README.md of the chart', () => {
  it('is what `npm run generate` writes', async () => {
    expect(await chartReadme(CHART)).toBe(README);
  });
});
