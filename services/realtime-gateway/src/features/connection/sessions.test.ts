import { afterEach, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '@uswarm/contract';
import { WORKSPACE } from '../../../test/envelopes.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import {
  auth,
  closeSessionGateways,
  HASHES,
  isServed,
  renew,
  startSessionGateways as start,
} from '../../../test/session-gateways.js';
import { USER } from '../../../test/test-gateway.js';

afterEach(closeSessionGateways);

const HOUR = 3_600_000;

describe('session.ready', () => {
  it('has the session, a resume token, the remaining time and the limits', async () => {
    const { gateway, state } = await start();
    state.expiresInMs = HOUR;
    const client = await gateway.connect(auth('phone'));
    const ready = await client.next('session.ready');
    expect(ready).toEqual({
      session_id: expect.stringMatching(/^[\da-f-]{36}$/),
      resumed: false,
      resume_token: expect.any(String),
      expires_in_ms: expect.any(Number),
      limits: {
        subscriptions: 50,
        events_per_second: 20,
        events_burst: 40,
        events_queued: 64,
        refusals_per_second: 20,
        refusals_burst: 1_000,
        event_bytes: 262_144,
        unread_bytes: 1_048_576,
      },
    });
    expect(ready.expires_in_ms).toBeGreaterThan(HOUR - 60_000);
    expect(ready.expires_in_ms).toBeLessThanOrEqual(HOUR);
  });

  it.each([-HOUR, HOUR])('states the remaining time if the clock of the gateway is off by %d ms', async (skewMs) => {
    const { gateway, state } = await start();
    state.expiresInMs = HOUR;
    const realNow = Date.now;
    Date.now = () => realNow() + skewMs;
    try {
      const client = await gateway.connect(auth('phone'));
      const { expires_in_ms: expiresInMs } = await client.next('session.ready');
      expect(expiresInMs).toBeGreaterThan(HOUR - 60_000);
      expect(expiresInMs).toBeLessThanOrEqual(HOUR);
      await isServed(client);
    } finally {
      Date.now = realNow;
    }
  });

  it('follows a subscribe with a resume token that names the workspaces', async () => {
    const timers = createManualTimers();
    const { gateway } = await start({ timers });
    const client = await gateway.connect(auth('phone'));
    await client.next('session.ready');
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    timers.advance(1_000);
    const { resume_token: token } = await client.next('session.ready');
    expect(gateway.resumeTokens.verify(token).workspaceIds).toEqual([WORKSPACE]);
  });

  it('comes again with a newer resume token after the session check, and only then', async () => {
    const timers = createManualTimers();
    const { gateway, state } = await start({ timers, settings: { sessionCheckMs: 60_000, resumeTokenMs: 240_000 } });
    const client = await gateway.connect(auth('phone'));
    await client.next('session.ready');
    state.fault = 'service_unavailable';
    timers.advance(240_000);
    await isServed(client);
    expect(client.events).toHaveLength(1);
    state.fault = undefined;
    timers.advance(60_000);
    await isServed(client);
    timers.advance(240_000);
    await client.next('session.ready');
  });
});

describe('an expiring credential', () => {
  it('is announced a minute before, and then the transport closes', async () => {
    const timers = createManualTimers();
    const { gateway, state } = await start({ timers });
    state.expiresInMs = HOUR;
    const client = await gateway.connect(auth('phone'));
    timers.advance(HOUR - 60_000);
    expect(await client.next('session.ending')).toEqual({ code: 'token_expired', reconnect: true, in_ms: 60_000 });
    await isServed(client);
    timers.advance(60_000);
    expect(await client.next('session.ending')).toEqual({ code: 'token_expired', reconnect: true, in_ms: 0 });
    expect(await client.disconnected).toBe('transport close');
  });

  it('is announced after half of its time if it is short', async () => {
    const { gateway, state } = await start();
    state.expiresInMs = 200;
    const client = await gateway.connect(auth('phone'));
    const { in_ms: inMs } = await client.next('session.ending');
    expect(inMs).toBeLessThanOrEqual(100);
    expect(await client.disconnected).toBe('transport close');
  });

  it('no longer closes the socket after session.renew', async () => {
    const timers = createManualTimers();
    const { gateway, state } = await start({ timers });
    state.expiresInMs = HOUR;
    const client = await gateway.connect(auth('phone'));
    await client.next('session.ready');
    timers.advance(HOUR - 30_000);
    state.expiresInMs = 2 * HOUR;
    expect(await renew(client, 'renewed')).toMatchObject({ ok: true, expires_in_ms: expect.any(Number) });
    const { expires_in_ms: expiresInMs } = await client.next('session.ready');
    expect(expiresInMs).toBeGreaterThan(HOUR);
    timers.advance(HOUR);
    await isServed(client);
    timers.advance(HOUR);
    expect(await client.disconnected).toBe('transport close');
  });
});

describe('session.renew', () => {
  it('keeps the session and its subscriptions', async () => {
    const { gateway } = await start();
    const client = await gateway.connect(auth('phone'));
    const { session_id: before } = await client.next('session.ready');
    await renew(client, 'renewed');
    expect((await client.next('session.ready')).session_id).toBe(before);
  });

  it.each<[string, string, ErrorCode]>([
    ['wrong credentials', 'nonsense', 'token_invalid'],
    ['credentials of another user', 'foreign', 'session_user_mismatch'],
  ])('refuses %s by callback and by event, and keeps the present ones', async (_what, token, code) => {
    const { gateway, bus } = await start();
    const client = await gateway.connect(auth('phone'));
    expect(await renew(client, token)).toMatchObject({ code });
    expect(await client.next('session.renew.error')).toMatchObject({
      code,
      retryable: false,
      error: expect.any(String),
      request_id: expect.stringMatching(/.{8}/),
    });
    await isServed(client);
    await bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASHES.phone, code: 'logged_out' });
    expect(await client.next('session.ending')).toMatchObject({ code: 'logged_out' });
  });

  it.each<[string, unknown]>([
    ['no payload', undefined],
    ['credentials of the wrong form', { credentials: { 'x-token': 7 } }],
  ])('refuses %s as invalid', async (_what, payload) => {
    const { gateway } = await start();
    const client = await gateway.connect(auth('phone'));
    expect(await client.ask('session.renew', payload)).toMatchObject({ code: 'validation_failed' });
    await isServed(client);
  });

  it('can be repeated after a transient error', async () => {
    const { gateway, state } = await start();
    const client = await gateway.connect(auth('phone'));
    state.fault = 'service_unavailable';
    expect(await renew(client, 'renewed')).toMatchObject({ code: 'service_unavailable' });
    expect(await client.next('session.renew.error')).toMatchObject({ retryable: true });
    state.fault = undefined;
    expect(await renew(client, 'renewed')).toMatchObject({ ok: true });
  });

  it('makes the socket depend on the new credential only', async () => {
    const { gateway, bus } = await start();
    const client = await gateway.connect(auth('phone'));
    await renew(client, 'renewed');
    await bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASHES.phone, code: 'logged_out' });
    await isServed(client);
    await bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASHES.renewed, code: 'logged_out' });
    expect(await client.next('session.ending')).toMatchObject({ code: 'logged_out' });
  });

  it('makes the session check depend on the new credential only', async () => {
    const timers = createManualTimers();
    const { gateway, state } = await start({ timers });
    const client = await gateway.connect(auth('phone'));
    await renew(client, 'renewed');
    state.revoked.add(HASHES.phone);
    timers.advance(60_000);
    await isServed(client);
    state.revoked.add(HASHES.renewed);
    timers.advance(60_000);
    expect(await client.next('session.ending')).toMatchObject({ code: 'session_ended' });
  });

  it('refuses a credential that is revoked while it is verified', async () => {
    const { gateway, bus, state } = await start();
    const client = await gateway.connect(auth('phone'));
    state.beforeResponse = async () =>
      void (await bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASHES.renewed, code: 'logged_out' }));
    expect(await renew(client, 'renewed')).toMatchObject({ code: 'token_revoked' });
    await isServed(client);
  });
});
