import { expect } from '@jest/globals';
import { ApiError, type AuthenticateAnswer, type ErrorCode } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import type { TestClient } from './test-client.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions, USER } from './test-gateway.js';

export const OTHER_USER = '01890000-0000-7000-8000-0000000000f2';
export const HASHES = { phone: 'a'.repeat(64), renewed: 'b'.repeat(64), foreign: 'c'.repeat(64) } as const;
type Token = keyof typeof HASHES;

const gateways: TestGateway[] = [];

/** Closes all gateways of `startSessionGateways`. */
export async function closeSessionGateways(): Promise<void> {
  for (const gateway of gateways.splice(0)) await gateway.close();
}

/** An orchestrator that knows three tokens, and can be unavailable. */
function createOrchestrator() {
  const state = {
    fault: undefined as ErrorCode | undefined,
    revoked: new Set<string | null>(),
    expiresInMs: null as number | null,
    authenticated: [] as string[],
    /** Called before the response to an authentication. */
    beforeResponse: async (): Promise<void> => undefined,
  };
  const throwFault = (): void => {
    if (state.fault !== undefined) throw new ApiError(state.fault);
  };
  const calls: NonNullable<TestGatewayOptions['orchestrator']> = {
    async authenticate(credentials): Promise<AuthenticateAnswer> {
      throwFault();
      const token = String(credentials['x-token']) as Token;
      state.authenticated.push(token);
      const token_hash = HASHES[token];
      if (token_hash === undefined) throw new ApiError('token_invalid');
      if (state.revoked.has(token_hash)) throw new ApiError('token_revoked');
      await state.beforeResponse();
      const user_id = token === 'foreign' ? OTHER_USER : USER;
      return { user_id, token_hash, expires_at: null, expires_in_ms: state.expiresInMs };
    },
    async subscriptions(_userId, ids) {
      throwFault();
      return { accepted: ids.map((workspace_id) => ({ workspace_id, last_seq: 0 })), rejected: [] };
    },
    async endedSessions(sessions) {
      throwFault();
      return { ended: sessions.flatMap(({ token_hash }, index) => (state.revoked.has(token_hash) ? [index] : [])) };
    },
  };
  return { state, calls };
}

/** Starts a gateway; others share its bus and its orchestrator. */
export async function startSessionGateways(options: TestGatewayOptions = {}) {
  const orchestrator = createOrchestrator();
  const bus: EventBus = options.bus ?? createMemoryBus();
  const startGateway = async (more: TestGatewayOptions = {}): Promise<TestGateway> => {
    const settings = { handshakePatienceMs: 0, ...options.settings, ...more.settings };
    const gateway = await startTestGateway({ ...options, orchestrator: orchestrator.calls, bus, ...more, settings });
    gateways.push(gateway);
    return gateway;
  };
  return { ...orchestrator, gateway: await startGateway(), startGateway, bus };
}

export const auth = (token: string | undefined, resumeToken?: string) => ({
  auth: {
    ...(token !== undefined && { 'x-token': token }),
    ...(resumeToken !== undefined && { resume_token: resumeToken }),
  },
});
export const isServed = async (client: TestClient): Promise<void> =>
  expect(await client.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
export const renew = (client: TestClient, token: string) =>
  client.ask('session.renew', { credentials: { 'x-token': token } });
