import { afterEach, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const APP = 'https://app.example.com';
const PROFILE = '/v1/users/profile';

describe('cross-origin requests', () => {
  let uswarm: TestOrchestrator;
  afterEach(() => uswarm.close());
  const start = async (origins: string, more: Record<string, string> = {}): Promise<void> => {
    uswarm = await startTestOrchestrator({ environment: { CORS_ORIGINS: origins, ...more } });
  };
  const preflight = (path: string, method: string, headers: string, origin = APP): Promise<Response> =>
    fetch(`${uswarm.url}${path}`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': headers },
    });
  const from = (origin: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${uswarm.url}${path}`, { headers: { ...headers, origin } });
  const allowedOrigin = ({ headers }: Response): string | null => headers.get('access-control-allow-origin');

  it('a page of a configured origin can send every header that the API reads', async () => {
    await start(`https://other.example.com,${APP}`);
    const sent =
      'authorization,content-type,idempotency-key,prefer,range,x-device-id,x-device-info,x-signature,x-timestamp,x-timezone,x-token,x-version';
    const answer = await preflight('/v1/workspaces', 'PATCH', sent);
    expect(answer.status).toBe(204);
    expect(allowedOrigin(answer)).toBe(APP);
    expect(answer.headers.get('vary')).toMatch(/Origin/);
    const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(',') ?? [];
    expect(sent.split(',').filter((header) => !allowed.includes(header))).toEqual([]);
    expect(answer.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('a page can read the response headers that a client needs', async () => {
    await start(APP);
    const user = await uswarm.user();
    const answer = await from(APP, PROFILE, { 'x-token': user.token });
    expect(answer.status).toBe(200);
    expect(allowedOrigin(answer)).toBe(APP);
    const exposed = answer.headers.get('access-control-expose-headers')?.split(',') ?? [];
    expect(exposed).toEqual(expect.arrayContaining(['ETag', 'RateLimit', 'Retry-After', 'X-Request-Id']));
  });

  it('a page can read error responses: 401, 404, 429 and a malformed body', async () => {
    await start(APP, { RATE_IP_PER_S: '0.015625', RATE_IP_BURST: '3' });
    const answers = [
      await from(APP, PROFILE),
      await from(APP, '/v1/nothing'),
      await fetch(`${uswarm.url}/v1/workspaces`, {
        method: 'POST',
        headers: { origin: APP, 'content-type': 'application/json' },
        body: '{',
      }),
      await from(APP, PROFILE),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, expect.any(Number), 429]);
    expect(answers.map(allowedOrigin)).toEqual(Array(4).fill(APP));
    expect((await preflight(PROFILE, 'GET', 'x-token')).status).toBe(204);
  });

  it('a page of another origin gets no CORS headers', async () => {
    await start(APP);
    const answers = [
      await preflight(PROFILE, 'GET', 'x-token', 'https://app.example.com.evil.test'),
      await from('https://evil.test', PROFILE),
    ];
    expect(answers.map(allowedOrigin)).toEqual([null, null]);
  });

  it('no origin gets CORS headers by default', async () => {
    await start('');
    const answers = [await preflight(PROFILE, 'GET', 'x-token'), await from(APP, PROFILE)];
    expect(answers.map(allowedOrigin)).toEqual([null, null]);
  });

  it('all origins are allowed if CORS_ORIGINS is *', async () => {
    await start('*');
    expect(allowedOrigin(await preflight(PROFILE, 'GET', 'x-token', 'https://anywhere.test'))).toBe('*');
    expect(allowedOrigin(await from('https://anywhere.test', PROFILE))).toBe('*');
  });
});
