import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from './environment.mjs';

const IGNORED = /(?:^|\/)(?:node_modules|dist|\.[a-z0-9]+)\//;
const pages = globSync(['**/*.md', '.github/**/*.md'], {
  cwd: repositoryRoot,
  exclude: (name) => name === 'node_modules',
})
  .filter((path) => path.startsWith('.github/') || !IGNORED.test(`${path}/`))
  .toSorted();
const textOf = (path) => readFileSync(join(repositoryRoot, path), 'utf8').replace(/^( *```).*\n[^]*?^\1/gm, '');
const exists = (path) => existsSync(join(repositoryRoot, path));

/** The id that the forge gives to a heading. */
const anchor = (heading) =>
  heading
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (path) => new Set([...textOf(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchor(heading)));

/** Targets inside the repository. */
const linksOf = (path) =>
  [...textOf(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link)
    .filter((link) => !/^(?:[a-z]+:|\.\.\/blob\/)/.test(link));

/** Repository paths in backticks, without placeholders and patterns. */
const pathsOf = (path) =>
  [
    ...textOf(path).matchAll(
      /`((?:bench|charts|crds|deploy|docs|e2e|evals|examples|hack|packages|services)\/[^`\s]*)`/g,
    ),
  ]
    .map(([, named]) => named)
    .filter((named) => !/[<>*{}…$:]|\/dist\//.test(named));

describe('the Markdown pages', () => {
  it('link only to files and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => {
          const [file, fragment] = link.split('#');
          const target = file === '' ? page : normalize(join(dirname(page), file));
          if (!exists(target)) return true;
          return fragment !== undefined && target.endsWith('.md') && !anchorsOf(target).has(fragment);
        })
        .map((link) => `${page}: ${link}`),
    );
    expect(pages.length).toBeGreaterThan(100);
    expect(broken).toEqual([]);
  });

  it('name only paths that exist', () => {
    const missing = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        pathsOf(page)
          .filter((path) => !exists(path))
          .map((path) => `${page}: ${path}`),
      );
    expect(missing).toEqual([]);
  });

  it('are listed in docs/README.md if they are in docs', () => {
    const listed = linksOf('docs/README.md');
    const files = globSync('docs/*.md', { cwd: repositoryRoot }).map((path) => path.slice('docs/'.length));
    expect(files.filter((file) => file !== 'README.md' && !listed.includes(file))).toEqual([]);
  });

  it('include a README for each service and package', () => {
    const folders = globSync('{packages,services}/*/package.json', { cwd: repositoryRoot }).map(dirname);
    expect(folders.length).toBeGreaterThan(20);
    expect(folders.filter((folder) => !exists(`${folder}/README.md`))).toEqual([]);
  });
});
