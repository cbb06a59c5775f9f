import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { IntegrationProvider } from '@uswarm/contract';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { VENDOR_HABITS } from '@uswarm/testkit/account-server';
import { withVendors } from '../../../generate/vendors.js';
import { loadAssets } from '../../platform/core/assets.js';
import { loadIntegrationCatalog } from '../integrations/catalog.js';
import { type KnownServer, KNOWN_SERVERS } from './known-servers.js';

const servers: [string, KnownServer][] = Object.entries(KNOWN_SERVERS);

describe('the known tool servers', () => {
  it('include each provider in the API for which agents have no built-in tools', () => {
    const ours: readonly string[] = AGENT_TOOLS.flatMap(({ provider }) => provider ?? []);
    const others = IntegrationProvider.options.filter((provider) => !ours.includes(provider));
    expect(Object.keys(KNOWN_SERVERS)).toEqual(expect.arrayContaining(others));
    expect(Object.keys(KNOWN_SERVERS).filter((id) => ours.includes(id))).toEqual([]);
  });

  it.each(servers)('have a category and an icon of this installation: %s', (_id, { category_id, icon }) => {
    expect(loadIntegrationCatalog().categories.map(({ id }) => id)).toContain(category_id);
    expect(() => loadAssets(undefined).get(icon.replace('/v1/assets/', ''))).not.toThrow();
  });

  it.each(servers)('have addresses with https: %s', (_id, { url, documentation }) => {
    expect([url, documentation].map((address) => new URL(address).protocol)).toEqual(['https:', 'https:']);
  });

  it.each(Object.entries(VENDOR_HABITS))('need a client where the server registers none: %s', (id, habits) => {
    const { needs } = Object.fromEntries(servers)[id] as KnownServer;
    expect(needs.includes('client_id')).toBe('registration' in habits);
  });

  it('are listed in the docs, by npm run generate', () => {
    const page = readFileSync(new URL('../../../../../docs/connections.md', import.meta.url), 'utf8');
    expect(withVendors(page)).toBe(page);
  });
});
