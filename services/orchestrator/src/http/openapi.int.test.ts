import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, ROUTES } from '@uswarm/contract';
import { buildAsyncApi, buildOpenApi } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/testkit';
import { type ApiDocument, type Operation, operationsOf, readDocument, sendExample } from '../../test/api-document.js';
import { ownEverything } from '../../test/belongings.js';
import { integrationEnvironment, startProviderServer } from '../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/**
 * Which fields of an example an answer does not have. Of lists the first elements stand for all; what is null
 * or empty has no fields, whatever stands there otherwise.
 */
function missingFields(example: unknown, answer: unknown, path = ''): string[] {
  if (typeof example !== 'object' || example === null || answer === null) return [];
  if (Array.isArray(example)) {
    if (!Array.isArray(answer)) return [`${path} is no list`];
    return answer.length === 0 || example.length === 0 ? [] : missingFields(example[0], answer[0], `${path}[0]`);
  }
  if (typeof answer !== 'object' || answer === undefined) return [path];
  return Object.entries(example).flatMap(([name, value]) =>
    name in answer
      ? missingFields(value, (answer as Record<string, unknown>)[name], `${path}.${name}`)
      : [`${path}.${name}`],
  );
}

describe('GET /v1/openapi.json', () => {
  let uswarm: TestOrchestrator;
  let server: OAuthServer;
  let document: ApiDocument;
  let operations: Map<string, Operation>;
  beforeAll(async () => {
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({ environment: integrationEnvironment(server) });
    document = await readDocument(uswarm.url);
    operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  it('is OpenAPI 3.1, as it is checked in, for the server that shows it', async () => {
    const { servers, ...rest } = document;
    const { servers: _, ...checkedIn } = JSON.parse(JSON.stringify(buildOpenApi())) as ApiDocument;
    expect(rest).toEqual(checkedIn);
    expect(servers).toEqual([{ url: '/' }]);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('names the public URL where there is one', async () => {
    const other = await startTestOrchestrator({ environment: { PUBLIC_URL: 'https://api.example.com' } });
    expect((await readDocument(other.url)).servers).toEqual([{ url: 'https://api.example.com' }]);
    await other.close();
  });

  it('has the realtime interface beside it, as it is checked in, with an ETag', async () => {
    const response = await fetch(`${uswarm.url}/v1/asyncapi.json`);
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(buildAsyncApi())));
    // fetch would ask for an answer from no cache.
    const headers = { 'if-none-match': response.headers.get('etag') ?? 'none' };
    const again = await request(`${uswarm.url}/v1/asyncapi.json`, { headers });
    expect(again.statusCode).toBe(304);
  });

  it('names the public URL in the realtime interface, too', async () => {
    const other = await startTestOrchestrator({ environment: { PUBLIC_URL: 'https://api.example.com' } });
    const shown = (await (await fetch(`${other.url}/v1/asyncapi.json`)).json()) as { servers: unknown };
    await other.close();
    expect(shown.servers).toMatchObject({
      public: { host: 'api.example.com', protocol: 'wss', pathname: '/socket.io/' },
    });
  });

  it('has no default response, and describes every route', () => {
    const responses = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((each) => each.responses),
    );
    expect(responses.filter((each) => 'default' in each)).toEqual([]);
    expect([...operations.keys()].toSorted()).toEqual(ROUTES.map(({ operationId }) => operationId).toSorted());
  });

  describe.each(ROUTES.map(({ operationId }) => operationId))('%s', (operationId) => {
    it('answers each of its examples with success, and with the fields of the answer that it shows', async () => {
      const operation = operations.get(operationId)!;
      expect(operation.bodies).not.toEqual([]);
      for (const body of operation.bodies) {
        const { user, values } = await ownEverything(uswarm, server);
        const { status, body: answer } = await sendExample({ url: uswarm.url, client: user, operation, values, body });
        expect([body.name, operation.successes.includes(status), answer]).toEqual([body.name, true, answer]);
        expect([body.name, missingFields(operation.answer, answer)]).toEqual([body.name, []]);
      }
    });
  });

  it('shows the limits as answers do', async () => {
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
