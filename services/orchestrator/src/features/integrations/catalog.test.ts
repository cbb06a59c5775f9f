import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IntegrationProvider } from '@uswarm/contract';
import { catalogOf, loadIntegrationCatalog } from './catalog.js';

describe('the catalogue that comes with the service', () => {
  it('has every provider once', () => {
    const { items } = loadIntegrationCatalog();
    const providers = items.flatMap(({ provider }) => provider ?? []);
    expect(providers.toSorted()).toEqual(IntegrationProvider.options.toSorted());
  });

  it('shows built-in tools as there, and apps where the user connected them', () => {
    const { items } = catalogOf(loadIntegrationCatalog(), new Set(['zoom']));
    const enabled = items.filter((item) => item.enabled).map(({ name }) => name);
    expect(enabled).toEqual(['Web search', 'Memories', 'Zoom']);
  });
});

describe('a catalogue of an operator', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const load = (content: object) => {
    const file = join(folder, 'catalog.json');
    writeFileSync(file, JSON.stringify(content));
    return loadIntegrationCatalog(file);
  };
  const categories = [{ id: 'work', name: 'Work', image_url: 'https://example.com/work.png' }];
  const item = { name: 'Zoom', description: '', icon_url: '', type: 'app', provider: 'zoom' };

  it('replaces ours', () => {
    expect(load({ categories, items: [item] })).toEqual({ categories, items: [item] });
  });

  it.each([
    ['an app without a provider', [{ ...item, provider: null }]],
    ['a provider twice', [item, item]],
    ['a category that is not there', [{ ...item, category_id: 'play' }]],
    ['a tool without a category', [{ ...item, type: 'tool' }]],
    ['a field that is misspelt', [{ ...item, icon: '' }]],
  ])('is refused with %s', (_what, items) => {
    expect(() => load({ categories, items })).toThrow();
  });
});
