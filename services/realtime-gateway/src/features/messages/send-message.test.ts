import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError, ErrorBody } from '@uswarm/contract';
import { createLogger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { DEFAULT_SETTINGS } from '../../settings.js';
import { CONVERSATION, MESSAGE, messageNew, WORKSPACE } from '../../../test/envelopes.js';
import type { TestClient } from '../../../test/test-client.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions, USER } from '../../../test/test-gateway.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const draft = {
  workspace_id: WORKSPACE,
  conversation_id: CONVERSATION,
  local_id: 'local-1',
  content: { type: 'text', text: 'hello' },
};
const received = { local_id: 'local-1', message_id: MESSAGE, status: 'received' };

async function connected(
  send: OrchestratorClient['send'],
  options: Pick<TestGatewayOptions, 'settings' | 'logger'> = {},
): Promise<TestClient> {
  gateway = await startTestGateway({ ...options, orchestrator: { send } });
  return gateway.connect();
}

describe('message.send', () => {
  it('RT-003 forwards the message to the orchestrator with a token for the user', async () => {
    const sent: unknown[] = [];
    const client = await connected(async (userId, message) => {
      sent.push({ userId, message });
      return { message_id: MESSAGE };
    });
    client.socket.emit('message.send', { ...draft, of_a_newer_app: true });
    await client.next('message.send.ack');
    expect(sent).toEqual([{ userId: USER, message: { ...draft, mentions: [], attachments: [] } }]);
  });

  it('takes a null for an absent field', async () => {
    const sent: unknown[] = [];
    const client = await connected(async (_userId, message) => {
      sent.push(message);
      return { message_id: MESSAGE };
    });
    client.socket.emit('message.send', { ...draft, mentions: null, attachments: null });
    await client.next('message.send.ack');
    expect(sent).toEqual([{ ...draft, mentions: [], attachments: [] }]);
  });

  it('RT-007 emits message.send.ack after the orchestrator has stored the message', async () => {
    const client = await connected(async () => ({ message_id: MESSAGE }));
    client.socket.emit('message.send', draft);
    expect(await client.next('message.send.ack')).toEqual(received);
    expect(client.names()).toEqual(['message.send.ack']);
  });

  it('calls the acknowledgement callback as well', async () => {
    const client = await connected(async () => ({ message_id: MESSAGE }));
    expect(await client.ask('message.send', draft)).toEqual({ ok: true, ...received });
  });

  it('forwards a repeated send and returns the same response', async () => {
    const client = await connected(async () => ({ message_id: MESSAGE }));
    for (let time = 0; time < 2; time += 1) {
      client.socket.emit('message.send', draft);
      expect(await client.next('message.send.ack')).toEqual(received);
    }
  });

  it('RT-008 reports a rejected send with message, code, retryable and request id', async () => {
    const requestIds: string[] = [];
    const client = await connected(async (_userId, _message, requestId) => {
      requestIds.push(requestId);
      throw new ApiError('turn_queue_full', { extra: { retry_after_ms: 5 } });
    });
    const answer = await client.ask('message.send', draft);
    expect(await client.next('message.send.error')).toEqual({
      local_id: 'local-1',
      error: 'Too many turns are queued in this conversation.',
      code: 'turn_queue_full',
      retryable: true,
      request_id: requestIds[0],
      retry_after_ms: 5,
      stored: 'no',
    });
    expect(ErrorBody.parse(answer)).toMatchObject({ code: 'turn_queue_full', extra: { retry_after_ms: 5 } });
  });

  it.each([
    ['unknown', new ApiError('service_unavailable')],
    ['no', new ApiError('service_unavailable', { extra: { stored: 'no' } })],
    ['no', new ApiError('conversation_not_found')],
  ])('I12 reports that a message is not stored only if the orchestrator reports it: %s', async (stored, error) => {
    const client = await connected(() => Promise.reject(error));
    client.socket.emit('message.send', draft);
    expect(await client.next('message.send.error')).toMatchObject({ code: error.code, stored });
  });

  it.each([
    ['a missing payload', undefined, ''],
    ['a string', 'hello', ''],
    ['a local_id that is not a string', { ...draft, local_id: 7 }, ''],
    ['a missing content', { ...draft, content: undefined }, 'local-1'],
    ['a text that is too long', { ...draft, content: { type: 'text', text: 'x'.repeat(32_001) } }, 'local-1'],
    ['a local_id that is too long', { ...draft, local_id: 'y'.repeat(129) }, 'y'.repeat(128)],
    ['an invalid mention', { ...draft, mentions: [{ agent_id: 'unknown' }] }, 'local-1'],
  ])('reports %s as validation_failed and forwards nothing', async (_name, payload, localId) => {
    const sent: unknown[] = [];
    const client = await connected(async (...call) => {
      sent.push(call);
      return { message_id: MESSAGE };
    });
    client.socket.emit('message.send', payload);
    expect(await client.next('message.send.error')).toMatchObject({
      local_id: localId,
      code: 'validation_failed',
      retryable: false,
      stored: 'no',
      error: expect.stringContaining('see extra.fields'),
    });
    expect(sent).toEqual([]);
  });

  it('hides the details of an unexpected error and continues to serve the socket', async () => {
    let broken = true;
    const client = await connected(async () => {
      if (broken) throw new TypeError('undefined is not a database');
      return { message_id: MESSAGE };
    });
    client.socket.emit('message.send', draft);
    const failure = await client.next('message.send.error');
    expect(failure).toMatchObject({ code: 'internal_error', retryable: true });
    expect(JSON.stringify(failure)).not.toContain('database');
    broken = false;
    client.socket.emit('message.send', draft);
    expect(await client.next('message.send.ack')).toEqual(received);
  });

  it('handles the messages of a socket in order', async () => {
    const finished: string[] = [];
    const { promise: first, resolve: finishFirst } = Promise.withResolvers<void>();
    const client = await connected(async (_userId, { local_id }) => {
      if (local_id === 'a') await first;
      finished.push(local_id);
      return { message_id: MESSAGE };
    });
    for (const local_id of ['a', 'b', 'c']) client.socket.emit('message.send', { ...draft, local_id });
    finishFirst();
    for (let count = 0; count < 3; count += 1) await client.next('message.send.ack');
    expect(finished).toEqual(['a', 'b', 'c']);
  });

  it('emits message.send.ack before message.new to the sender, even if the relay is faster', async () => {
    const client = await connected(async () => {
      await gateway.publish(messageNew(1));
      await new Promise((resolve) => setImmediate(resolve));
      return { message_id: MESSAGE };
    });
    client.socket.emit('workspace.subscribe', { workspace_ids: [WORKSPACE.toUpperCase()] });
    client.socket.emit('message.send', draft);
    await client.next('message.new');
    expect(client.names()).toEqual(['workspace.subscribed', 'message.send.ack', 'message.new']);
  });

  it('holds events only for the sender and only up to the time limit', async () => {
    const { promise: stored, resolve: store } = Promise.withResolvers<void>();
    const sender = await connected(
      async () => {
        await gateway.publish(messageNew(1));
        await stored;
        return { message_id: MESSAGE };
      },
      { settings: { subscriptions: { ...DEFAULT_SETTINGS.subscriptions, maxHoldMs: 50 } } },
    );
    const watcher = await gateway.connect();
    for (const client of [sender, watcher]) await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    sender.socket.emit('message.send', draft);
    await watcher.next('message.new');
    // The send is still in progress, so only the time limit can end the hold.
    await sender.next('message.new');
    store();
    await sender.next('message.send.ack');
    expect(sender.names()).toEqual(['workspace.subscribed', 'message.new', 'message.send.ack']);
  });

  it('continues to deliver events after a failed send', async () => {
    const client = await connected(async () => {
      await gateway.publish(messageNew(1));
      throw new ApiError('service_unavailable');
    });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    client.socket.emit('message.send', draft);
    expect(await client.next('message.new')).toMatchObject({ seq: 1 });
  });

  it('records the duration of sends by outcome', async () => {
    const answers = [async () => ({ message_id: MESSAGE }), () => Promise.reject(new ApiError('service_unavailable'))];
    const client = await connected(() => answers.shift()!());
    await client.ask('message.send', draft);
    await client.ask('message.send', draft);
    await client.ask('message.send', {});
    const text = await gateway.metric('uswarm_gateway_send_seconds');
    expect(text).toContain('uswarm_gateway_send_seconds_count{outcome="ok"} 1');
    expect(text).toContain('uswarm_gateway_send_seconds_count{outcome="refused"} 1');
    expect(text).toContain('uswarm_gateway_send_seconds_count{outcome="failed"} 1');
  });

  it('logs no content of a message', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const client = await connected(() => Promise.reject(new Error('broken')), {
      logger: createLogger({ service: 's', level: 'trace', destination }),
    });
    await client.ask('message.send', { ...draft, content: { type: 'text', text: 'my secret' } });
    await client.ask('message.send', { ...draft, local_id: 7, content: { type: 'text', text: 'my secret' } });
    expect(lines.join('')).toContain('broken');
    expect(lines.join('')).not.toContain('secret');
  });
});
