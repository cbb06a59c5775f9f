import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { io, type Socket } from 'socket.io-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

interface Answer {
  ok?: true;
  code?: string;
}

/** Below the rate that the gateway allows. */
const SENDS_PER_S = 15;
/** So long that the socket's queue is full for most of the time. */
const HANG_S = 15;

describeWith('valkey', 'a client with default options that sends while the service hangs', () => {
  let services: SeparateServices;
  let socket: Socket;
  beforeAll(async () => {
    services = await startSeparateServices({
      TURN_WORKERS: '0',
      RUNTIME_WORKERS: '0',
      RATE_SENDS_PER_S: '1000',
      RATE_SENDS_BURST: '1000',
      RATE_USER_PER_S: '1000',
      RATE_USER_BURST: '1000',
    });
  });
  afterAll(async () => {
    socket?.disconnect();
    await services?.close();
  });

  it('keeps its connection, and is told that the service is unavailable', async () => {
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    const user = await startTestClient({ ...services, token });
    user.close();
    socket = io(`${services.socketUrl}/v1`, { forceNew: true, auth: { 'x-token': token } });
    const ended: unknown[] = [];
    socket.on('session.ending', (ending) => ended.push(ending));
    socket.on('disconnect', (reason) => ended.push(reason));
    await eventually(() => socket.connected);
    const send = (): Promise<Answer> =>
      socket.timeout(120_000).emitWithAck('message.send', {
        workspace_id: user.workspaceId,
        conversation_id: user.conversationId,
        local_id: randomUUID(),
        content: { type: 'text', text: 'hello' },
      });
    expect(await send()).toMatchObject({ ok: true });

    const { pid } = services.orchestrators[0]!;
    process.kill(pid, 'SIGSTOP');
    const answers: Promise<Answer>[] = [];
    for (let sent = 0; sent < HANG_S * SENDS_PER_S; sent += 1) {
      answers.push(send());
      await sleep(1_000 / SENDS_PER_S);
    }
    process.kill(pid, 'SIGCONT');

    const codes = new Set((await Promise.all(answers)).map(({ code = 'ok' }) => code));
    expect(ended).toEqual([]);
    expect(codes).toContain('service_unavailable');
    expect(codes).not.toContain('rate_limited');
    expect(await eventually(send, { until: ({ code }) => code !== 'service_unavailable' })).toBeDefined();
  });
});
