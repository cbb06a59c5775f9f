import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';

const SOURCES = join(import.meta.dirname, '../src');
const SHARED = 'ui.module.css';

const classesOf = (css: string): Set<string> =>
  new Set([...css.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/\.([a-z][\w-]*)(?=[^;{}]*\{)/gi)].map(([, name]) => name!));

describe('the style sheets of the page', () => {
  /** Style sheet names are unique, so a file name is enough. */
  const sheets = new Map<string, Set<string>>();
  const sources = new Map<string, string>();
  beforeAll(async () => {
    for (const name of await readdir(SOURCES, { recursive: true })) {
      const text = /\.(?:css|tsx?)$/.test(name) ? await readFile(join(SOURCES, name), 'utf8') : '';
      if (name.endsWith('.module.css')) sheets.set(name, classesOf(text));
      else sources.set(name, text);
    }
  });

  /** Names in a file, as `sheet class`. */
  function namedIn(file: string, text: string): string[] {
    const imports = [...text.matchAll(/import (\w+) from '(.*)\.module\.css'/g)].map(([, local, path]) => ({
      local: local!,
      sheet: join(file, '..', `${path}.module.css`),
    }));
    const own = imports.flatMap(({ local, sheet }) =>
      [...text.matchAll(new RegExp(`\\b${local}\\['(\\w+)'\\]`, 'g'))].map(([, name]) => `${sheet} ${name}`),
    );
    const shared = [...text.matchAll(/\bui\(\s*'([\w ]+)'/g)].flatMap(([, names]) =>
      names!.split(' ').map((name) => `ui/${SHARED} ${name}`),
    );
    return [...own, ...shared];
  }

  it('have each class that a screen names', () => {
    const missing = [...sources].flatMap(([file, text]) =>
      namedIn(file, text)
        .filter((named) => {
          const [sheet = '', name = ''] = named.split(' ');
          return !sheets.get(sheet)?.has(name);
        })
        .map((named) => `${file}: ${named}`),
    );
    expect(missing).toEqual([]);
  });

  it('have no class that nothing names', () => {
    const all = [...sources.values()].join('\n');
    const unused = [...sheets].flatMap(([sheet, names]) =>
      [...names].filter((name) => !new RegExp(`['\`" ]${name}['\`" ]`).test(all)).map((name) => `${sheet} ${name}`),
    );
    expect(unused).toEqual([]);
  });
});
