import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

const DOORS = path.join(REPOSITORY, 'services/orchestrator/src/doors');
/** An adapter that needs more does what other doors need too. */
const DOOR_LINES = 300;

/** In its sources, without tests. */
function linesIn(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => /(?<!\.test)\.ts$/.test(file));
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8'));
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
}

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

  it('have at most 300 lines in each door of the orchestrator', () => {
    const folders = readdirSync(DOORS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const doors = folders.map(({ name }) => [name, linesIn(path.join(DOORS, name))]);
    expect(doors.map(([name]) => name)).toEqual(['ag-ui', 'mcp', 'openai']);
    expect(doors.filter(([, lines]) => lines > DOOR_LINES)).toEqual([]);
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
