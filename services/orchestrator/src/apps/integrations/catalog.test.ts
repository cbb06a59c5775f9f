import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { loadTools } from '../../platform/core/catalog.js';
import { catalogOf, loadIntegrationCatalog, missingToolCategories, withoutOtherTools } from './catalog.js';

describe('the default integration catalog', () => {
  it('has an app exactly if agents have tools for it', () => {
    const { items } = loadIntegrationCatalog();
    const apps = items.flatMap(({ provider }) => provider ?? []);
    expect(apps).toEqual(AGENT_TOOLS.flatMap(({ provider }) => provider ?? []));
  });

  it('marks built-in tools as enabled, and apps only if the user connected them', () => {
    const { items } = catalogOf(loadIntegrationCatalog(), new Set(['gmail']));
    const enabled = items.filter((item) => item.enabled).map(({ name }) => name);
    expect(enabled).toEqual([
      'Web search',
      'Web pages',
      'Memories',
      'Artifacts',
      'Files',
      'Code',
      'Workflows',
      'Schedules',
      'Delegation',
      'Agents',
      'Action cards',
      'Gmail',
    ]);
  });

  it('has the category of every tool of an agent', () => {
    expect(missingToolCategories(loadIntegrationCatalog(), AGENT_TOOLS)).toEqual([]);
  });

  it.each([...AGENT_TOOLS])(
    'has an item for the tool $name with the same category and icon',
    ({ provider = null, category_id, icon_url }) => {
      const type = provider === null ? 'tool' : 'app';
      const { items } = loadIntegrationCatalog();
      expect(items).toContainEqual(expect.objectContaining({ type, provider, category_id, icon_url }));
    },
  );

  it('leaves out a tool that the operator has not turned on', () => {
    const named = (isOn: boolean) =>
      withoutOtherTools(
        loadIntegrationCatalog(),
        loadTools({ INTEGRATION_PROVIDERS: {}, CODE_RUNNER_ENABLED: isOn, SCHEDULES_ENABLED: true }),
      ).items;
    expect(named(true).filter(({ name }) => name === 'Code')).toHaveLength(1);
    expect(named(false)).toEqual(named(true).filter(({ name }) => name !== 'Code'));
  });

  it('has no item for a tool that agents do not have', () => {
    const { items } = loadIntegrationCatalog();
    const icons = AGENT_TOOLS.filter(({ provider }) => provider === undefined).map(({ icon_url: icon }) => icon);
    expect(items.filter(({ type }) => type === 'tool').map(({ icon_url: icon }) => icon)).toEqual(icons);
  });
});

describe('an operator’s integration catalog', () => {
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
  const item = { name: 'Mail', description: '', icon_url: '', type: 'app', provider: 'gmail' };

  it('replaces the default catalog', () => {
    expect(load({ categories, items: [item] })).toEqual({ categories, items: [item] });
  });

  it('is rejected with an app that is a tool server, and the error names its new place', () => {
    expect(() => load({ categories, items: [item, { ...item, provider: 'zoom' }] })).toThrow(
      'INTEGRATION_CATALOG_FILE: items.1.provider: zoom is a tool server: remove it here, and add it to toolServers.servers',
    );
  });

  it('is accepted without the category of a tool, which is reported as missing', () => {
    const tools = ['work', 'research', 'research'].map((category_id) => ({ category_id }));
    expect(missingToolCategories(load({ categories, items: [item] }), tools)).toEqual(['research']);
  });

  it.each([
    ['an app without a provider', [{ ...item, provider: null }]],
    ['a provider twice', [item, item]],
    ['an unknown category', [{ ...item, category_id: 'play' }]],
    ['a tool without a category', [{ ...item, type: 'tool' }]],
    ['a misspelled field', [{ ...item, icon: '' }]],
  ])('is rejected if it contains %s', (_what, items) => {
    expect(() => load({ categories, items })).toThrow(/^INTEGRATION_CATALOG_FILE: /);
  });
});
