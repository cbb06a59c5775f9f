import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import { byTier } from '@uswarm/testkit/tier';
import { type ContainerKiller, openContainerKiller } from '../support/container-killer.js';
import {
  forwardPort,
  NAMESPACE,
  openSession,
  READY_WITHIN_MS,
  runningContainer,
  type Session,
} from '../support/index.js';
import { modelRequests, useModelServer } from '../support/model-server.js';
import { signUp } from '../support/sign-up.js';

let session: Session;
let mobile: TestClient;
let name: string;
let killer: ContainerKiller;

beforeAll(async () => {
  session = await openSession();
  killer = await openContainerKiller(session);
  mobile = await signUp(session);
  name = userSwarmName(mobile.workspaceId);
  await useModelServer(session, name);
});
afterAll(() => session?.close());

async function killContainer(): Promise<void> {
  const killed = await killer.kill(await runningContainer(session, name));
  await killed.replaced();
}

async function deletePod(): Promise<void> {
  const { namespace, pod } = await runningContainer(session, name);
  await session.tools.kubectl(['delete', 'pod', pod, '-n', namespace, '--grace-period=0', '--force']);
}

/** Tool results in the prompts for the turn with this word. */
const asked = async (word: string): Promise<number[]> =>
  (await modelRequests(session)).flatMap((request) => (request.word === word ? [request.results ?? 0] : []));

/** The queries that the search engine received for this word. */
async function queries(word: string): Promise<string[]> {
  const forwarded = await forwardPort(session.tools, NAMESPACE.search, 'deployment/upstream', 8080);
  try {
    const response = await fetch(`http://127.0.0.1:${forwarded.port}/queries`);
    return ((await response.json()) as string[]).filter((query) => query.startsWith(word));
  } finally {
    await forwarded.close();
  }
}

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

/** Runs a turn that searches once per interruption, and interrupts it after each search. */
async function runInterrupted(interruptions: readonly (() => Promise<void>)[]) {
  const word = `word-${randomUUID()}`;
  let end: unknown;
  const answered = mobile.ask(`Search ${interruptions.length} times for ${word}`);
  answered.then(({ answer }) => (end = answer)).catch((error: unknown) => (end = error));
  for (const [index, interrupt] of interruptions.entries()) {
    const step = index + 1;
    await eventually(async () => (await asked(word)).includes(step) || end !== undefined, {
      description: `the model is called after search ${step}`,
      timeoutMs: READY_WITHIN_MS,
    });
    if (end !== undefined) throw new Error(`the turn ended before search ${step}: ${JSON.stringify(end)}`);
    await interrupt();
  }
  return { word, ...(await answered) };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

describe('a turn whose runtime is killed', () => {
  it.each([
    { times: 'once after a tool step', interruptions: [killContainer] },
    byTier({
      core: {
        times: 'three times, of which one is a deletion of its pod',
        interruptions: [killContainer, deletePod, killContainer],
      },
      all: {
        times: 'ten times, of which four are deletions of its pod',
        interruptions: [
          killContainer,
          // The kubelet delays a container's second restart by ten seconds.
          killContainer,
          deletePod,
          killContainer,
          deletePod,
          killContainer,
          deletePod,
          killContainer,
          deletePod,
          killContainer,
        ],
      },
    }),
  ])('$times completes, and the search engine sees each call once', async ({ interruptions }) => {
    const { word, answer, done, streamed } = await runInterrupted(interruptions);
    const count = interruptions.length;
    expect(done.payload).toMatchObject({ status: 'delivered' });
    const parts = Array.from({ length: count }, (_, step) => `Part ${step}. `);
    expect(textOf(answer)).toBe(`${parts.join('')}The end.`);
    expect(streamed).toBe(textOf(answer));
    expect(await queries(word)).toEqual(upTo(count).map((step) => `${word} ${step}`));
    // Only the model calls that were interrupted are repeated, once each.
    expect(await asked(word)).toEqual([0, ...upTo(count).flatMap((step) => [step, step])]);
  });
});
