import { Code, ConnectError } from '@connectrpc/connect';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RuntimeClient } from '../../runtimes/runtime-client.js';
import type { LoadedRequest } from './load-turn-request.js';
import type { TurnRow } from '../turns.store.js';
import { createTurnPreparation } from './prepare-turn.js';

const NEW = { status: 'queued', reply_message_id: null, resumes_message_id: null, task_depth: null } as TurnRow;
const TO = { workspaceId: 'w', address: 'http://127.0.0.1:1' };
const LOADED = { hasFiles: true } as LoadedRequest;

describe('the preparation of a turn', () => {
  let identify: jest.MockedFunction<RuntimeClient['identify']>;
  let controller: AbortController;
  const prepare = (turn: TurnRow, loaded = LOADED) =>
    createTurnPreparation({ client: { identify }, loadRequest: async () => loaded })(turn, TO, controller.signal);
  beforeEach(() => {
    controller = new AbortController();
    identify = jest.fn(async () => ({ instanceId: 'i', features: ['journal.1'] }));
  });

  it('reads what the runtime of a new turn gets', async () => {
    expect(await prepare(NEW)).toEqual({ instanceId: 'i', loaded: LOADED });
  });

  it.each<[string, Partial<TurnRow>]>([
    ['another process has begun', { status: 'running' }],
    ['has a reply', { reply_message_id: 'm' }],
    ['continues another one', { resumes_message_id: 'm' }],
    ['works on a task', { task_depth: 1 }],
  ])('is left out for a turn that %s', async (_which, change) => {
    expect(await prepare({ ...NEW, ...change })).toBeUndefined();
    expect(identify).not.toHaveBeenCalled();
  });

  it('is left out if files take long to read, so that the user sees that the agent reads', async () => {
    expect(await prepare(NEW, { ...LOADED, hasFiles: false })).toBeUndefined();
  });

  it('is left out if the runtime is unreachable, so that the user sees that the turn has begun', async () => {
    identify.mockRejectedValue(new ConnectError('refused', Code.Unavailable));
    expect(await prepare(NEW)).toBeUndefined();
  });

  it('is left out if the runtime does not respond within a second', async () => {
    identify.mockImplementation(
      (_to, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(ConnectError.from(signal.reason)));
        }),
    );
    expect(await prepare(NEW)).toBeUndefined();
  });

  it('fails if the process stops', async () => {
    identify.mockImplementation(async () => {
      controller.abort();
      throw new ConnectError('stopped', Code.Canceled);
    });
    await expect(prepare(NEW)).rejects.toThrow('stopped');
  });
});
