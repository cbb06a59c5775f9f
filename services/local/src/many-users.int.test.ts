import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { developmentToken, startTestClient, streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { childrenOf } from '../test/processes.js';

const USERS = 16;
const MAX_RUNTIMES = 8;
const POLL_MS = 20;
/** An answer takes about two seconds, so that it is streamed also if its first event is published late. */
const DEMO_DELAY_MS = '30';

describe('local mode with 16 users and 8 runtime processes', () => {
  let local: RunningProgram;
  let clients: TestClient[] = [];
  beforeAll(async () => {
    local = await runLocalMode({ USWARM_MAX_RUNTIMES: String(MAX_RUNTIMES), USWARM_DEMO_DELAY_MS: DEMO_DELAY_MS });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await local?.stop();
  });

  const signUp = async (_: unknown, index: number): Promise<TestClient> => {
    const token = await developmentToken(local.issuer, `user-${index}@example.com`);
    return startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  };

  const isRuntime = ({ pid }: { pid: number }): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('agent-runtime/dist/main.js');
    } catch {
      return false;
    }
  };

  /** Counts the runtime processes until `run` has ended. @returns the largest number */
  async function mostRuntimesDuring(run: () => Promise<void>): Promise<number> {
    let most = 0;
    const counting = new AbortController();
    const count = async (): Promise<void> => {
      while (!counting.signal.aborted) {
        most = Math.max(most, childrenOf(local.program.pid).filter(isRuntime).length);
        await sleep(POLL_MS);
      }
    };
    const counted = count();
    try {
      await run();
    } finally {
      counting.abort();
      await counted;
    }
    return most;
  }

  /** Asks a question, and checks that its answer is streamed and contains the nonce of this user only. */
  async function askForNonce(client: TestClient, round: string): Promise<void> {
    const nonce = `nonce-${round}-${client.workspaceId}`;
    const questionId = await client.send(`Repeat ${nonce}`);
    const isAnswer = ({ message }: { message: MessageData }): boolean =>
      message.role === 'agent' && JSON.stringify(message.content).includes(nonce) && message.status === 'delivered';
    const { payload } = await client.saw('message.updated', isAnswer);
    const { id } = payload['message'] as MessageData;
    await client.saw('message.done', ({ message_id: messageId }: { message_id: string }) => messageId === id);
    const chunks = client.events.filter(
      ({ name, payload: { message_id: messageId } }) => name === 'message.chunk' && messageId === id,
    );
    // On a busy machine, a gateway sends several chunks as one.
    assert.ok(chunks.length > 0, `the answer was not streamed: ${JSON.stringify(client.events)}`);
    expect(streamedText(client.events, id)).toContain(nonce);
    expect(questionId).not.toBe(id);
  }

  /** The nonces in everything that the client received. */
  const noncesOf = ({ events }: TestClient): Set<string> =>
    new Set(JSON.stringify(events).match(/nonce-\w+-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g));

  it('streams to each new user an answer with the nonce of this user, with at most 8 processes', async () => {
    const most = await mostRuntimesDuring(async () => {
      clients = await Promise.all(Array.from({ length: USERS }, signUp));
      await Promise.all(clients.map((client) => askForNonce(client, 'first')));
    });
    expect(most).toBe(MAX_RUNTIMES);
    for (const client of clients) expect([...noncesOf(client)]).toEqual([`nonce-first-${client.workspaceId}`]);
  });

  it('answers all of them again, also those whose runtime was suspended for others', async () => {
    const most = await mostRuntimesDuring(async () => {
      await Promise.all(clients.map((client) => askForNonce(client, 'second')));
    });
    expect(most).toBe(MAX_RUNTIMES);
    for (const client of clients) {
      const nonces = ['first', 'second'].map((round) => `nonce-${round}-${client.workspaceId}`);
      expect([...noncesOf(client)]).toEqual(nonces);
    }
  });
});
