import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Health, LegalStatus, ModelCatalogItem } from '@uswarm/contract';
import { first, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { eventually } from '../../../test/eventually.js';
import { type CuttableProxy, startCuttableProxy } from '../../../test/cuttable-proxy.js';

const document = (name: string): string =>
  readFileSync(new URL(`../../../config/legal/${name}.md`, import.meta.url), 'utf8');

describe('public routes', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { LEGAL_VERSION: '2026-11', MODEL_PROVIDER: 'openai' } });
  });
  afterAll(() => uswarm.close());

  const health = async () => (await uswarm.anonymous.get<{ data: Health }>('/v1/health')).body;
  const models = async () => (await uswarm.anonymous.get<{ data: ModelCatalogItem[] }>('/v1/models')).body;
  const legal = async () => (await uswarm.anonymous.get<{ data: LegalStatus }>('/v1/legal')).body;

  it('REST-001 GET /v1/health tells the health without credentials', async () => {
    expect(Object.keys(await health())).toEqual(['data']);
  });

  it('RES-002 health is online while Postgres answers', async () => {
    expect((await health()).data.online).toBe(true);
  });

  it('RES-003 VER-002 health tells the version of the service', async () => {
    expect((await health()).data.version).toBe('0.0.0-test');
  });

  it('REST-002 GET /v1/models lists the models without credentials', async () => {
    expect((await models()).data.map(({ id }) => id)).toEqual(['flash', 'sonnet', 'opus']);
  });

  it.each(['RES-004 id', 'RES-005 name', 'RES-006 provider', 'RES-007 description'] as const)(
    '%s: of every model, a text that is not empty',
    async (row) => {
      const field = row.slice('RES-000 '.length) as keyof ModelCatalogItem;
      const values = (await models()).data.map((model) => model[field]);
      expect(values.filter((value) => typeof value === 'string' && value !== '')).toHaveLength(3);
    },
  );

  it('RES-006 the provider of a model is the configured one', async () => {
    expect(new Set((await models()).data.map(({ provider }) => provider))).toEqual(new Set(['openai']));
  });

  it('REST-003 GET /v1/legal returns the legal status without credentials, with nothing accepted', async () => {
    expect((await legal()).data).toMatchObject({
      has_agreed_with_terms: false,
      has_agreed_with_privacy_policy: false,
    });
  });

  it('RES-008 the legal status carries the terms of service', async () => {
    expect((await legal()).data.terms_of_service).toBe(document('terms_of_service'));
  });

  it('RES-009 the legal status carries the privacy policy', async () => {
    expect((await legal()).data.privacy_policy).toBe(document('privacy_policy'));
  });

  it('RES-012 the legal status tells the version of the terms', async () => {
    expect((await legal()).data.terms_of_service_version).toBe('2026-11');
  });

  it('RES-013 the legal status tells the version of the privacy policy', async () => {
    expect((await legal()).data.privacy_policy_version).toBe('2026-11');
  });

  it('CONV-007 public routes ignore a credential, even a worthless one', async () => {
    const stranger = uswarm.anonymous.with({ 'x-token': 'worthless', authorization: 'Bearer worthless' });
    for (const path of ['/v1/health', '/v1/models', '/v1/legal']) {
      expect((await stranger.get(path)).status).toBe(200);
    }
  });
});

describe('without Postgres', () => {
  let proxy: CuttableProxy;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    proxy = await startCuttableProxy(process.env['TEST_POSTGRES_URL'] ?? '');
    uswarm = await startTestOrchestrator({ reachDatabaseBy: proxy.redirect });
  });
  // Also after a failure: without its database the orchestrator does not stop.
  afterEach(() => proxy.mend());
  afterAll(async () => {
    await uswarm.close();
    await proxy.close();
  });

  it('RES-002 health goes offline, is still answered with 200, and comes back', async () => {
    const online = async () => (await uswarm.anonymous.get<{ data: Health }>('/v1/health', 200)).body.data.online;
    await proxy.cut();
    expect(await eventually(online, (now) => !now)).toBe(false);
    await proxy.mend();
    expect(await eventually(online, (now) => now)).toBe(true);
  });

  it('other routes answer service_unavailable, and work again afterwards', async () => {
    const user = await uswarm.user();
    await proxy.cut();
    expect(await user.refusal('GET', '/v1/users/profile')).toBe('service_unavailable');
    await proxy.mend();
    expect(first((await user.get<{ data: unknown[] }>('/v1/workspaces')).body.data)).toBeDefined();
  });
});
