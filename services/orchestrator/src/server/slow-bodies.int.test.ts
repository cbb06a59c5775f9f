import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorBody, INTERNAL_PATHS, MODEL_CALLS_PATH, type RouteDefinition, ROUTES } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { sendSlowBody } from '@uswarm/testkit/slow-request';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../test/test-orchestrator.js';

const documented: readonly RouteDefinition[] = ROUTES;
const WITH_BODY = documented
  .filter(({ body }) => body !== undefined)
  .map(({ method, path, operationId }) => ({
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, () => crypto.randomUUID()),
    operationId,
  }));

describe('a JSON body that stands still', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  const log: string[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ logTo: log, bodies: { stallMs: 300, minBytesPerS: 1_000 } });
    user = await uswarm.user();
  });
  afterAll(() => uswarm.close());

  it.each(WITH_BODY)('is 408 request_timeout: $operationId', async ({ method, path }) => {
    const headers = { ...user.headers, authorization: `Bearer ${user.token}` };
    const { status, head, body } = await sendSlowBody({
      method,
      url: `${uswarm.url}${path}`,
      headers,
      start: '{"name":',
    });
    const { code, extra } = ErrorBody.parse(JSON.parse(body));
    expect({ status, code }).toEqual({ status: 408, code: 'request_timeout' });
    expect(head).toContain(`x-request-id: ${extra?.request_id}`);
    expect(head).toContain('connection: close');
  });

  it.each([...Object.values(INTERNAL_PATHS), MODEL_CALLS_PATH])('is 408 request_timeout: %s', async (path) => {
    const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await sendSlowBody({
      method: 'POST',
      url: `${uswarm.internalUrl}${path}`,
      headers,
      start: '{',
    });
    expect({ status, code: ErrorBody.parse(JSON.parse(body)).code }).toEqual({ status: 408, code: 'request_timeout' });
  });

  it('is logged as a request with its code, and not as an error', () => {
    const lines = log.map((line) => JSON.parse(line) as { level: string; code?: string; status?: number; msg: string });
    expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    const requests = lines.filter(({ code, msg }) => msg === 'request' && code === 'request_timeout');
    expect(new Set(requests.map(({ status }) => status))).toEqual(new Set([408]));
  });
});
