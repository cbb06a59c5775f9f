import { describe, expect, it } from '@jest/globals';
import { createApi } from '@uswarm/testkit/test-client';
import { eventually } from '@uswarm/testkit/eventually';
import { byTier } from '@uswarm/testkit/tier';
import { EVENT_CREATED, INSERT, MAIL_SENT, mailUnknown, SEND, useCallFixture } from '../test/call-fixture.js';
import type { Program } from '../test/program.js';

describe('invariant 4: a call that changes another system', () => {
  const calls = useCallFixture();
  const noTurns = () =>
    eventually(() => calls.services.query(`SELECT FROM work WHERE kind = 'turn'`), {
      until: ({ length }) => length === 0,
    });

  it.each([
    ['a mail', SEND, MAIL_SENT],
    ['an event', INSERT, EVENT_CREATED],
  ] as const)(
    'leaves once if the orchestrator hangs and another one takes over: %s',
    async (_what, method, expected) => {
      await calls.requestWithoutAnswer(method);
      const hung = calls.orchestrator;
      process.kill(hung.pid, 'SIGSTOP');
      const other = await calls.services.addOrchestrator();
      await other.printed(/expired lease taken over/);
      const end = await calls.atTheEnd();
      // The first one reads the answer after the turn has ended.
      calls.servers.google.release();
      process.kill(hung.pid, 'SIGCONT');
      await hung.stop();
      expect(end).toEqual(expected);
      expect(await calls.atTheEnd()).toEqual(expected);
      await other.stop();
      await calls.recover();
    },
  );

  it('leaves once if the runtime hangs, is replaced, and continues later', async () => {
    await calls.writeArguments();
    const runtime = await calls.services.runtimePid(calls.user.workspaceId);
    process.kill(runtime, 'SIGSTOP');
    calls.endArguments();
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    expect(await calls.services.runtimePid(calls.user.workspaceId)).not.toBe(runtime);
  });

  describe('leaves once if Postgres', () => {
    it('ends all connections before it is stored as sent', async () => {
      const unlock = await calls.blockAfterArguments('receipts');
      await calls.services.databaseProxy.disconnect();
      await unlock();
      await calls.services.databaseProxy.restore();
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    });

    it('ends all connections between the answer and the commit of it', async () => {
      await calls.requestWithoutAnswer(SEND);
      const unlock = await calls.services.lockTable('tool_calls');
      calls.servers.google.release();
      await calls.services.untilBlocked();
      await calls.services.databaseProxy.disconnect();
      await unlock();
      await calls.services.databaseProxy.restore();
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    });

    it('hangs between the answer and the commit of it, until leases have expired', async () => {
      await calls.requestWithoutAnswer(SEND);
      calls.services.databaseProxy.freeze();
      calls.servers.google.release();
      const expired = `SELECT FROM work WHERE kind = 'turn' AND lease_expires_at < now()`;
      await eventually(() => calls.services.query(expired), { until: ({ length }) => length > 0 });
      await calls.services.databaseProxy.disconnect();
      calls.services.databaseProxy.thaw();
      await calls.services.databaseProxy.restore();
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
      await noTurns();
    });
  });

  describe('leaves once if the API of the provider', () => {
    it.each([
      ['answers 503', { kind: 'refuse', status: 503, reason: 'backendError' }, mailUnknown(0)],
      ['breaks the connection before it executes the request', { kind: 'lose-request' }, mailUnknown(0)],
      ['breaks the connection after it has executed the request', { kind: 'lose-answer' }, MAIL_SENT],
      ['is silent for longer than the orchestrator waits', { kind: 'hang' }, MAIL_SENT],
    ] as const)('%s, as a mail', async (_what, fault, expected) => {
      calls.servers.google.failNext(SEND, fault);
      await calls.user.send(`Send ${calls.name}`);
      const end = await calls.atTheEnd();
      calls.servers.google.release();
      expect(end).toEqual(expected);
    });

    const eventFaults = [
      ['answers 503', { kind: 'refuse', status: 503, reason: 'backendError' }],
      ['breaks the connection before it executes the request', { kind: 'lose-request' }],
      ['breaks the connection after it has executed the request', { kind: 'lose-answer' }],
      ['is silent for longer than the orchestrator waits', { kind: 'hang' }],
    ] as const;
    // A repeated event has the same key: what matters is whether the provider has executed the first request.
    it.each(byTier({ core: eventFaults.slice(1, 3), all: [...eventFaults] }))(
      '%s, as an event',
      async (_what, fault) => {
        calls.servers.google.failNext(INSERT, fault);
        await calls.user.send(`Create the event ${calls.name}`);
        const end = await calls.atTheEnd();
        calls.servers.google.release();
        expect(end).toEqual(EVENT_CREATED);
      },
    );
  });

  describe('leaves once if a roll-out replaces', () => {
    it('the orchestrator while a request has no answer', async () => {
      await calls.requestWithoutAnswer(SEND);
      const other = await calls.services.addOrchestrator();
      const old = calls.services.orchestrators.at(-2)!;
      const stopping = old.stop('SIGTERM');
      calls.servers.google.release();
      await stopping;
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
      await other.stop();
      await calls.recover();
    });

    it('the runtime while the model writes the arguments', async () => {
      await calls.writeArguments();
      process.kill(await calls.services.runtimePid(calls.user.workspaceId), 'SIGTERM');
      calls.endArguments();
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    });
  });

  it('leaves once if two devices choose at two orchestrators', async () => {
    const card = await calls.ask();
    const other: Program = await calls.services.addOrchestrator();
    const [, port] = await other.printed(/"port":(\d+),"internalPort"/);
    const credentials = () => ({ 'x-token': calls.user.token });
    const api = createApi({ restUrl: `http://127.0.0.1:${port}`, credentials });
    const path = `/v1/workspaces/${calls.user.workspaceId}/messages/${card.id}/action`;
    const choices = await Promise.all([
      calls.user.choose(card, 'approve'),
      api('POST', path, { action_id: 'approve' }),
    ]);
    expect(choices.map(({ status }) => status)).toEqual([200, 200]);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    await other.stop();
    // The first one is still there.
    calls.services.orchestrators.pop();
  });
});
