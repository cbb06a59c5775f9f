import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Health, LegalStatus, ModelCatalogItem } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { first, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

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

  it('REST-001 GET /v1/health returns the health without credentials', async () => {
    expect(Object.keys(await health())).toEqual(['data']);
  });

  it('RES-002 health is online while Postgres responds', async () => {
    expect((await health()).data.online).toBe(true);
  });

  it('RES-003 VER-002 health has the version of the service', async () => {
    expect((await health()).data.version).toBe('0.0.0-test');
  });

  it('REST-002 GET /v1/models lists the models without credentials', async () => {
    expect((await models()).data.map(({ id }) => id)).toEqual(['flash', 'sonnet', 'opus']);
  });

  it.each(['RES-004 id', 'RES-005 name', 'RES-006 provider', 'RES-007 description'] as const)(
    '%s is a non-empty string for every model',
    async (row) => {
      const field = row.slice('RES-000 '.length) as keyof ModelCatalogItem;
      const values = (await models()).data.map((model) => model[field]);
      expect(values.filter((value) => typeof value === 'string' && value !== '')).toHaveLength(3);
    },
  );

  it('RES-006 the provider of a model is the configured one', async () => {
    expect(new Set((await models()).data.map(({ provider }) => provider))).toEqual(new Set(['openai']));
  });

  it('lists the limits and capabilities of the models', async () => {
    expect((await models()).data[0]).toMatchObject({
      context_window: expect.any(Number),
      max_output_tokens: expect.any(Number),
      capabilities: { tools: true },
    });
  });

  it('REST-003 GET /v1/legal returns the legal status without credentials and without acceptance', async () => {
    expect((await legal()).data).toMatchObject({
      has_agreed_with_terms: false,
      has_agreed_with_privacy_policy: false,
    });
  });

  it('RES-008 the legal status has the terms of service', async () => {
    expect((await legal()).data.terms_of_service).toBe(document('terms_of_service'));
  });

  it('RES-009 the legal status has the privacy policy', async () => {
    expect((await legal()).data.privacy_policy).toBe(document('privacy_policy'));
  });

  it('RES-012 the legal status has the version of the terms', async () => {
    expect((await legal()).data.terms_of_service_version).toBe('2026-11');
  });

  it('RES-013 the legal status has the version of the privacy policy', async () => {
    expect((await legal()).data.privacy_policy_version).toBe('2026-11');
  });

  it('CONV-007 public routes ignore credentials, even invalid ones', async () => {
    const client = uswarm.anonymous.with({ 'x-token': 'worthless', authorization: 'Bearer worthless' });
    for (const path of ['/v1/health', '/v1/models', '/v1/legal']) {
      expect((await client.get(path)).status).toBe(200);
    }
  });
});

describe('without Postgres', () => {
  let proxy: FaultInjectionProxy;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    proxy = await startFaultInjectionProxy(process.env['TEST_POSTGRES_URL'] ?? '');
    uswarm = await startTestOrchestrator({ reachDatabaseBy: proxy.redirect });
  });
  // Also after a failure: the orchestrator cannot stop without its database.
  afterEach(() => proxy.restore());
  afterAll(async () => {
    await uswarm.close();
    await proxy.close();
  });

  it('RES-002 health is offline with status 200, and recovers', async () => {
    const online = async () => (await uswarm.anonymous.get<{ data: Health }>('/v1/health', 200)).body.data.online;
    await proxy.disconnect();
    expect(await eventually(online, { until: (now) => !now })).toBe(false);
    await proxy.restore();
    expect(await eventually(online, { until: (now) => now })).toBe(true);
  });

  it('other routes return service_unavailable, and recover', async () => {
    const user = await uswarm.user();
    await proxy.disconnect();
    expect(await user.refusal('GET', '/v1/users/profile')).toBe('service_unavailable');
    await proxy.restore();
    expect(first((await user.get<{ data: unknown[] }>('/v1/workspaces')).body.data)).toBeDefined();
  });
});
