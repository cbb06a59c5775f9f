import { afterEach, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '@uswarm/contract';
import { io } from 'socket.io-client';
import {
  auth,
  closeSessionGateways,
  HASHES,
  isServed,
  OTHER_USER,
  renew,
  startSessionGateways as start,
} from '../../../test/session-gateways.js';
import { RESUME_KEY, type TestGateway, type TestGatewayOptions, USER } from '../../../test/test-gateway.js';
import { createResumeTokens, RESUME_MS } from './resume-token.js';

afterEach(closeSessionGateways);

describe('a resume token', () => {
  /** A client on the first gateway, and its token. */
  async function connected(options: TestGatewayOptions = {}) {
    const setUp = await start(options);
    const client = await setUp.gateway.connect(auth('phone'));
    const ready = await client.next('session.ready');
    return { ...setUp, client, ready, token: ready.resume_token };
  }

  it('admits a reconnect to another gateway while the orchestrator is unavailable', async () => {
    const { state, startGateway, token, ready } = await connected();
    state.fault = 'service_unavailable';
    const other = await startGateway();
    for (const credentials of ['phone', undefined]) {
      const client = await other.connect(auth(credentials, token));
      expect(await client.next('session.ready')).toMatchObject({ session_id: ready.session_id, resumed: true });
    }
    expect(await other.metric('uswarm_gateway_handshakes_total')).toContain('{outcome="resumed"} 2');
  });

  it('admits a reconnect without an authentication while the orchestrator responds', async () => {
    const { state, startGateway, token } = await connected();
    const other = await startGateway();
    await other.connect(auth('phone', token));
    expect(state.authenticated).toEqual(['phone']);
  });

  it.each<[string, () => string, ErrorCode]>([
    ['a forged', () => 'forged.token', 'resume_token_invalid'],
    [
      'an expired',
      () =>
        createResumeTokens([RESUME_KEY], () => Date.now() - RESUME_MS).issue({
          userId: USER,
          sessionId: 's',
          credentialHash: '',
          tokenHash: null,
          issuedAt: null,
          access: null,
          workspaceIds: [],
          confirmedMsAgo: 0,
          expiresInMs: null,
        }),
      'resume_token_expired',
    ],
  ])('is refused with a code if it is %s one without credentials', async (_what, token, code) => {
    const { gateway } = await start();
    expect((await gateway.refusal(auth(undefined, token()))).data).toMatchObject({ code });
    const client = await gateway.connect(auth('phone', token()));
    expect(await client.next('session.ready')).toMatchObject({ resumed: false });
  });

  it('is ignored if it belongs to another user: the credentials decide', async () => {
    const { gateway, token, ready, state } = await connected();
    const client = await gateway.connect(auth('foreign', token));
    const own = await client.next('session.ready');
    expect(own).toMatchObject({ resumed: false });
    expect(own.session_id).not.toBe(ready.session_id);
    expect(gateway.resumeTokens.verify(own.resume_token).userId).toBe(OTHER_USER);
    expect((await gateway.refusal(auth('nonsense', token))).data).toMatchObject({ code: 'token_invalid' });
    state.fault = 'service_unavailable';
    await expect(isRefusedTransiently(gateway, auth('foreign', token))).resolves.toBe(true);
  });

  it('admits the new credential of a renewed session and no longer the replaced one', async () => {
    const { client, gateway, state, token } = await connected();
    await renew(client, 'renewed');
    const { resume_token: renewed } = await client.next('session.ready');
    state.fault = 'service_unavailable';
    await gateway.connect(auth('renewed', renewed));
    await expect(isRefusedTransiently(gateway, auth('renewed', token))).resolves.toBe(true);
  });

  it('is refused by a gateway that saw the revocation, also while the orchestrator is unavailable', async () => {
    const { bus, startGateway, state, token } = await connected();
    const other = await startGateway();
    await bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASHES.phone, code: 'logged_out' });
    state.fault = 'service_unavailable';
    expect((await other.refusal(auth(undefined, token))).data).toMatchObject({ code: 'token_revoked' });
  });

  it('is refused for a revocation that no gateway saw, if the orchestrator responds', async () => {
    const { startGateway, state, token } = await connected();
    state.revoked.add(HASHES.phone);
    const other = await startGateway();
    expect((await other.refusal(auth(undefined, token))).data).toMatchObject({ code: 'token_revoked' });
    expect((await other.refusal(auth('phone', token))).data).toMatchObject({ code: 'token_revoked' });
  });

  it('admits a revoked session that no gateway saw only until the orchestrator is back', async () => {
    const { startGateway, state, token } = await connected();
    state.revoked.add(HASHES.phone);
    state.fault = 'service_unavailable';
    const other = await startGateway({ settings: { sessionCheckMs: 600_000, sessionCheckRetryMs: 5 } });
    const client = await other.connect(auth('phone', token));
    await isServed(client);
    state.fault = undefined;
    expect(await client.next('session.ending')).toMatchObject({ code: 'session_ended' });
    expect(await client.disconnected).toBe('io server disconnect');
  });

  it('admits a reconnect while the orchestrator hangs', async () => {
    const { calls, startGateway, token } = await connected();
    calls.endedSessions = () => new Promise(() => undefined);
    const other = await startGateway({ settings: { resumeConfirmMs: 20 } });
    const client = await other.connect(auth('phone', token));
    expect(await client.next('session.ready')).toMatchObject({ resumed: true });
  });

  it('does not outlive the last confirmation by more than 10 minutes, however often a client resumes', async () => {
    const { gateway, startGateway, state, token } = await connected();
    state.fault = 'service_unavailable';
    const before = gateway.resumeTokens.verify(token).confirmedMsAgo;
    const other = await startGateway();
    const client = await other.connect(auth('phone', token));
    const { resume_token: next } = await client.next('session.ready');
    expect(other.resumeTokens.verify(next).confirmedMsAgo).toBeGreaterThanOrEqual(before);
  });
});

/** Whether the gateway closes the transport, so that the client tries again. */
async function isRefusedTransiently(gateway: TestGateway, options: ReturnType<typeof auth>): Promise<boolean> {
  const socket = io(`${gateway.url}/v1`, {
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
    ...options,
  });
  return new Promise((resolve) => {
    socket.io.once('close', () => resolve(true));
    socket.once('connect', () => resolve(false));
  });
}
