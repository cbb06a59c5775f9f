import { createPrivateKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ADMIN_CALLS,
  type AdminCall,
  adminPath,
  INTERNAL_PATHS,
  MODEL_CALLS_PATH,
  MODEL_CALLS_TOKEN_PATH,
} from '@uswarm/contract';
import {
  callPublicKey,
  generateCallKeys,
  parseSigningKey,
  signAdminToken,
  signCallToken,
  type SigningKey,
  signInternalToken,
  signMcpToken,
  signModelCallsToken,
  signModelToken,
} from '@uswarm/service-kit';
import type { Express } from 'express';
import { request } from 'undici';
import { createAdminRouter } from '../accounts/admin/admin.routes.js';
import { createModelCallRouter } from '../turns/model-calls/model-calls.routes.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import { createInternalApp } from './internal-app.js';

const key = (): string => `k1:${randomBytes(32).toString('hex')}`;
/** Every platform key that signs tokens, by setting. */
const KEYS = {
  INTERNAL_API_KEY: key(),
  MODEL_CALLS_KEY: key(),
  ADMIN_API_KEY: key(),
  SVC_MCP_SIGNING_KEY: key(),
  MODEL_TOKEN_SIGNING_KEY: key(),
  CURSOR_KEY: key(),
  IDENTITY_HASH_KEY: key(),
};
const CALL_PRIVATE_KEY = generateCallKeys().privateKey;

type Area = 'realtime gateway' | 'model gateway' | 'operators';
interface Route {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  area: Area;
}
const ROUTES: Route[] = [
  ...Object.values(INTERNAL_PATHS).map((path): Route => ({ method: 'POST', path, area: 'realtime gateway' })),
  { method: 'POST', path: MODEL_CALLS_PATH, area: 'model gateway' },
  { method: 'PUT', path: `${MODEL_CALLS_PATH}/:id`, area: 'model gateway' },
  { method: 'GET', path: MODEL_CALLS_TOKEN_PATH, area: 'model gateway' },
  ...(Object.keys(ADMIN_CALLS) as AdminCall[]).map((call): Route => ({
    method: 'POST',
    path: adminPath(call),
    area: 'operators',
  })),
];
/** Only this key opens the area. */
const OPENED_BY: Record<Area, keyof typeof KEYS> = {
  'realtime gateway': 'INTERNAL_API_KEY',
  'model gateway': 'MODEL_CALLS_KEY',
  operators: 'ADMIN_API_KEY',
};

/** All tokens for the subject that a key holder can sign with the platform's code. */
function tokensOf(signing: SigningKey, subject: string): Promise<string>[] {
  const turn = { workspaceId: subject, agentId: crypto.randomUUID(), turnId: crypto.randomUUID() };
  return [
    signInternalToken(signing, subject),
    signModelCallsToken(signing, subject),
    signAdminToken(signing, subject),
    signMcpToken(signing, turn),
    signMcpToken(signing, turn, { query: 'query' }),
    signModelToken(signing, { ...turn, purpose: 'turn' }),
    signModelToken(signing, { ...turn, purpose: 'summary' }),
  ];
}

function registered(app: Express): string[] {
  interface Layer {
    route?: { path: string; methods: Record<string, boolean> };
    handle: { stack?: Layer[] };
  }
  const routesOf = (layers: readonly Layer[]): string[] =>
    layers.flatMap(({ route, handle }) =>
      route === undefined
        ? routesOf(handle.stack ?? [])
        : Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`),
    );
  return [...new Set(routesOf((app.router as unknown as { stack: Layer[] }).stack))];
}

describe('the keys of the internal API', () => {
  let uswarm: TestOrchestrator;
  let userId: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { ...KEYS, CALL_PRIVATE_KEY } });
    userId = await uswarm.idOf(await uswarm.user());
  });
  afterAll(() => uswarm.close());

  async function statusOf({ method, path }: Route, token?: string): Promise<number> {
    const answer = await request(`${uswarm.internalUrl}${path.replace(':id', crypto.randomUUID())}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: '{}',
    });
    await answer.body.dump();
    return answer.statusCode;
  }
  /** A route's statuses for all tokens that a key can sign: for a user, and for each service name. */
  async function statuses(route: Route, name: keyof typeof KEYS): Promise<Set<number>> {
    const subjects = [userId, 'model-gateway', 'realtime-gateway', 'olivia'];
    const tokens = await Promise.all(subjects.flatMap((each) => tokensOf(parseSigningKey(KEYS[name]), each)));
    return new Set(await Promise.all(tokens.map((token) => statusOf(route, token))));
  }
  const names = Object.keys(KEYS) as (keyof typeof KEYS)[];

  it('are tested with every route', () => {
    const app = createInternalApp({
      adminRouter: createAdminRouter({} as never),
      modelCallRouter: createModelCallRouter({} as never),
      requestContext: () => {},
    } as never);
    expect(registered(app).toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  it.each(ROUTES)('$method $path is opened only by the key of the $area', async (route) => {
    const others = names.filter((name) => name !== OPENED_BY[route.area]);
    for (const name of others) {
      expect({ name, statuses: await statuses(route, name) }).toEqual({ name, statuses: new Set([401]) });
    }
    // The body is refused, after the token was accepted; a token without a required user is not.
    expect([...(await statuses(route, OPENED_BY[route.area]))].some((status) => status !== 401)).toBe(true);
  });

  it.each(ROUTES)('$method $path is refused without a token, and with one for a runtime', async (route) => {
    const privateKey = createPrivateKey(CALL_PRIVATE_KEY);
    const ofCall = await signCallToken(privateKey, { subject: userId, audience: 'orchestrator-internal' });
    const publicKey = { id: 'k1', secret: new TextEncoder().encode(callPublicKey(CALL_PRIVATE_KEY)) };
    const tokens = [undefined, ofCall, ...(await Promise.all(tokensOf(publicKey, userId)))];
    expect(new Set(await Promise.all(tokens.map((token) => statusOf(route, token))))).toEqual(new Set([401]));
  });
});

it('no token opens the routes for model calls if the model gateway has no key', async () => {
  const uswarm = await startTestOrchestrator({ environment: { MODEL_CALLS_KEY: '' } });
  try {
    const token = await signModelCallsToken(parseSigningKey(uswarm.internalKey), 'model-gateway');
    const answer = await request(`${uswarm.internalUrl}${MODEL_CALLS_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{}',
    });
    await answer.body.dump();
    expect(answer.statusCode).toBe(401);
  } finally {
    await uswarm.close();
  }
});
