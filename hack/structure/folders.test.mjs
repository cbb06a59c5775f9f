import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { entriesInCycles, folderGraphs, valueImports } from './imports.mjs';

const REPOSITORY = path.resolve(import.meta.dirname, '../..');
const sources = ['packages', 'services'].flatMap((group) =>
  readdirSync(path.join(REPOSITORY, group))
    .map((name) => path.join(group, name, 'src'))
    .filter((folder) => existsSync(path.join(REPOSITORY, folder))),
);

/** From the ground up: a room uses the rooms before it. docs/architecture.md describes them. */
const ROOMS = [
  'platform',
  'records',
  'metering',
  'turns',
  'apps',
  'chat',
  'runtimes',
  'workspaces',
  'accounts',
  'events',
  'doors',
  'config.ts',
  'server',
];

describe('the folders of the sources', () => {
  it.each(sources)('do not import each other in circles: %s', (source) => {
    const graphs = folderGraphs(valueImports(path.join(REPOSITORY, source)));
    const knots = [...graphs].map(([folder, graph]) => [folder, entriesInCycles(graph)]);
    expect(knots.filter(([, entries]) => entries.length > 0)).toEqual([]);
  });

  it('are rooms in the orchestrator, which only use the rooms below them', () => {
    const graph = folderGraphs(valueImports(path.join(REPOSITORY, 'services/orchestrator/src'))).get('');
    const upward = [...graph].flatMap(([from, targets]) =>
      [...targets].filter((to) => ROOMS.indexOf(to) > ROOMS.indexOf(from)).map((to) => `${from} -> ${to}`),
    );
    const mains = [...graph.keys()].filter((entry) => !ROOMS.includes(entry));
    expect(upward.filter((edge) => !mains.includes(edge.split(' ')[0]))).toEqual([]);
    expect(mains).toEqual(['main.nonproduction.ts', 'main.ts', 'migrate-main.ts']);
  });

  it('are judged by their value imports', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b'])],
    ]);
    expect(entriesInCycles(graph)).toEqual(['b', 'c']);
    expect(folderGraphs([['chat/send/a.ts', 'chat/list/b.ts']])).toEqual(
      new Map([['chat', new Map([['send', new Set(['list'])]])]]),
    );
  });
});
