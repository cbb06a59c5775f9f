import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { dialects } from './index.js';
import { dialectsPage } from './page.js';

const all = Object.values(dialects).flat();

describe('the dialects', () => {
  it('are described in docs/dialects.md as `npm run generate` writes it', async () => {
    const page = await readFile(new URL('../../../../../docs/dialects.md', import.meta.url), 'utf8');
    expect(page).toBe(dialectsPage(dialects));
  });

  it('have names that are unique in their protocol', () => {
    const names = all.map(({ name, protocol }) => `${protocol}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('name a server and a source', () => {
    for (const { server, source } of all) {
      expect(server).not.toBe('');
      expect(new URL(source).protocol).toBe('https:');
    }
  });
});
