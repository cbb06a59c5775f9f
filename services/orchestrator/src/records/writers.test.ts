import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const SOURCES = join(import.meta.dirname, '..');
const WRITES =
  /INSERT INTO (\w+)|(?<!FOR (?:NO KEY )?|DO )UPDATE (\w+)|DELETE FROM (\w+)|(?:insertInto|updateTable|deleteFrom)\('(\w+)(?: as \w+)?'\)/g;

async function tableNames(): Promise<Set<string>> {
  const text = await readFile(join(SOURCES, 'platform/database/tables.ts'), 'utf8');
  const schema = /export interface Schema \{([^}]*)\}/.exec(text)?.[1] ?? '';
  return new Set([...schema.matchAll(/^ {2}(\w+):/gm)].map(([, name = '']) => name));
}

/** Files with statements that write a table, by table. */
async function writers(): Promise<Map<string, Set<string>>> {
  const found = new Map([...(await tableNames())].map((table) => [table, new Set<string>()]));
  for (const name of await readdir(SOURCES, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts') || name.includes('migrations')) continue;
    const text = await readFile(join(SOURCES, name), 'utf8');
    for (const match of text.matchAll(WRITES)) {
      const table = match.slice(1).find(Boolean) ?? '';
      found.get(table)?.add(name);
    }
  }
  return found;
}

it('writes each table in one file, so that its rules have one place', async () => {
  const found = [...(await writers())];
  expect(found.length).toBeGreaterThan(50);
  expect(found.filter(([, files]) => files.size !== 1).map(([table, files]) => [table, ...files])).toEqual([]);
});

it('has stores of functions with the database as first parameter, which nothing creates and passes on', async () => {
  const factories: string[] = [];
  for (const name of await readdir(SOURCES, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
    const text = await readFile(join(SOURCES, name), 'utf8');
    const found = [...text.matchAll(/(?:function|const) (create\w*Store)\b/g)].map(
      ([, factory]) => `${name}: ${factory}`,
    );
    factories.push(...found);
  }
  expect(factories).toEqual([]);
});
