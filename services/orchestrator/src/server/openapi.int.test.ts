import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GATEWAY_ROUTES, LIMITS, ROUTES } from '@uswarm/contract';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
import { type ApiDocument, type Operation, operationsOf, readDocument, sendExample } from '../../test/api-document.js';
import { createResourcePool } from '../../test/resource-fixtures.js';
import { type ProviderServers, startProviderServers } from '../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/**
 * Finds example fields that a response lacks. Only first list elements are compared; null and empty lists match any
 * example.
 */
function missingFields(example: unknown, answer: unknown, path = ''): string[] {
  if (typeof example !== 'object' || example === null || answer === null) return [];
  if (Array.isArray(example)) {
    if (!Array.isArray(answer)) return [`${path} is not a list`];
    return answer.length === 0 || example.length === 0 ? [] : missingFields(example[0], answer[0], `${path}[0]`);
  }
  if (typeof answer !== 'object' || answer === undefined) return [path];
  return Object.entries(example).flatMap(([name, value]) =>
    name in answer
      ? missingFields(value, (answer as Record<string, unknown>)[name], `${path}.${name}`)
      : [`${path}.${name}`],
  );
}

/** The health check reports this version. */
const version = '0.0.0-test';

describe('GET /v1/openapi.json', () => {
  let uswarm: TestOrchestrator;
  let server: ProviderServers;
  let document: ApiDocument;
  let operations: Map<string, Operation>;
  let resourcesFor: ReturnType<typeof createResourcePool>;
  beforeAll(async () => {
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({ environment: server.environment });
    document = await readDocument(uswarm.url);
    operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
    resourcesFor = createResourcePool(uswarm, server);
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  it('returns the checked-in OpenAPI 3.1 document with a relative server URL', async () => {
    const { servers, ...rest } = document;
    const { servers: _, ...checkedIn } = JSON.parse(JSON.stringify(buildOpenApi({ version }))) as ApiDocument;
    expect(rest).toEqual(checkedIn);
    expect(servers).toEqual([{ url: '/' }]);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('returns PUBLIC_URL as server URL if it is set', async () => {
    const other = await startTestOrchestrator({ environment: { PUBLIC_URL: 'https://api.example.com' } });
    expect((await readDocument(other.url)).servers).toEqual([{ url: 'https://api.example.com' }]);
    await other.close();
  });

  it('GET /v1/asyncapi.json returns the checked-in document with an ETag', async () => {
    const response = await fetch(`${uswarm.url}/v1/asyncapi.json`);
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(buildAsyncApi({ version }))));
    // fetch would send `Cache-Control: no-cache`.
    const headers = { 'if-none-match': response.headers.get('etag') ?? 'none' };
    const again = await request(`${uswarm.url}/v1/asyncapi.json`, { headers });
    expect(again.statusCode).toBe(304);
  });

  it('returns documents that describe the end-to-end bypass only if the system accepts it', async () => {
    const other = await startTestOrchestrator({ bypass: true });
    const read = async (url: string) =>
      Promise.all(['openapi', 'asyncapi'].map(async (name) => (await fetch(`${url}/v1/${name}.json`)).text()));
    const [withBypass, without] = await Promise.all([read(other.url), read(uswarm.url)]);
    await other.close();
    expect(withBypass.map((text) => /x-e2e-token/i.test(text))).toEqual([true, true]);
    expect(without.map((text) => /e2e/i.test(text))).toEqual([false, false]);
  });

  it('GET /v1/asyncapi.json returns PUBLIC_URL as server if it is set', async () => {
    const other = await startTestOrchestrator({ environment: { PUBLIC_URL: 'https://api.example.com' } });
    const shown = (await (await fetch(`${other.url}/v1/asyncapi.json`)).json()) as { servers: unknown };
    await other.close();
    expect(shown.servers).toMatchObject({
      public: { host: 'api.example.com', protocol: 'wss', pathname: '/socket.io/' },
    });
  });

  it('describes every route and no default response', () => {
    const responses = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((each) => each.responses),
    );
    expect(responses.filter((each) => 'default' in each)).toEqual([]);
    const expected = [...ROUTES, ...GATEWAY_ROUTES].map(({ operationId }) => operationId);
    expect([...operations.keys()].toSorted()).toEqual(expected.toSorted());
  });

  it('leaves the routes of the gateway to it', async () => {
    const statuses = await Promise.all(
      GATEWAY_ROUTES.map(async ({ path }) => (await fetch(`${uswarm.url}${path}`)).status),
    );
    expect(statuses).toEqual(GATEWAY_ROUTES.map(() => 404));
  });

  describe.each(ROUTES.map(({ operationId }) => operationId))('%s', (operationId) => {
    it('succeeds with each of its examples and returns the fields of the example response', async () => {
      const operation = operations.get(operationId)!;
      expect(operation.bodies).not.toEqual([]);
      for (const body of operation.bodies) {
        const { user, values } = await resourcesFor(operation);
        const { status, body: answer } = await sendExample({ url: uswarm.url, client: user, operation, values, body });
        expect({ example: body.name, success: operation.successes.includes(status), answer }).toEqual({
          example: body.name,
          success: true,
          answer,
        });
        const missing = missingFields(operation.answer, answer);
        expect({ example: body.name, missing }).toEqual({ example: body.name, missing: [] });
      }
    });
  });

  it('has the same examples of rate limit headers as responses', async () => {
    const { ip, user, sends, search } = LIMITS.rates;
    const limited = await startTestOrchestrator({
      environment: {
        RATE_IP_PER_S: String(ip.perSecond),
        RATE_USER_PER_S: String(user.perSecond),
        RATE_SENDS_PER_S: String(sends.perSecond),
        RATE_SEARCH_PER_S: String(search.perSecond),
      },
    });
    const { headers } = await limited.anonymous.get('/v1/models');
    const { RateLimitPolicy: policy, RateLimit: limit } = document.components.headers;
    expect(headers['ratelimit-policy']).toBe(policy?.example);
    expect(limit?.example?.split(', ')[0]).toBe(headers['ratelimit']);
    await limited.close();
  });
});
