import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import { openSession, READY_WITHIN_MS, type Session } from '../support/index.js';
import { signUp } from '../support/sign-up.js';

type ContentType = MessageContent['type'];

let session: Session;
let mobile: TestClient;

beforeAll(async () => {
  session = await openSession();
  mobile = await signUp(session);
});
afterAll(() => session?.close());

async function history(): Promise<MessageData[]> {
  const path = `/v1/workspaces/${mobile.workspaceId}/conversations/${mobile.conversationId}/messages`;
  return ((await mobile.api('GET', `${path}?direction=forward&limit=100`)).body as { data: MessageData[] }).data;
}

/** The contents that socket events have shown, in order. */
const shown = (): MessageContent[] =>
  mobile.events.flatMap(({ name, payload }) =>
    name === 'message.new' || name === 'message.updated' ? [(payload['message'] as MessageData).content] : [],
  );

const states = (contents: readonly MessageContent[], type: ContentType): unknown[] =>
  contents.flatMap((content) => (content.type === type && 'status' in content ? [content.status] : []));

/** Asks the demo model, and waits until the last content of this type has this status. */
async function ask(text: string, type: ContentType, status?: string): Promise<void> {
  await mobile.send(text);
  await eventually(
    async () => {
      const last = (await history()).findLast(({ content }) => content.type === type)?.content;
      return last !== undefined && (status === undefined || ('status' in last && last.status === status));
    },
    { description: `${type} after “${text}”`, timeoutMs: READY_WITHIN_MS },
  );
}

describe('a pod with the demo model', () => {
  it('shows each content type in socket events and in the history', async () => {
    await ask('Hello', 'text');
    await ask('Search the web for llamas', 'tool_status');
    await ask('show me a card', 'action_card');
    await ask('show me an artifact', 'artifact', 'final');
    await ask('show me a delegation', 'delegation', 'completed');
    await ask('show me a workflow', 'workflow', 'completed');
    await ask('Thank you', 'system');

    const stored = (await history()).map(({ content }) => content);
    const types: ContentType[] = ['text', 'tool_status', 'action_card', 'artifact', 'delegation', 'workflow', 'system'];
    expect(types.filter((type) => !stored.some((content) => content.type === type))).toEqual([]);
    // A reply is loading only while it is written.
    const live: ContentType[] = [...types, 'loading'];
    expect(live.filter((type) => !shown().some((content) => content.type === type))).toEqual([]);
    expect(states(shown(), 'delegation')).toEqual(expect.arrayContaining(['running', 'completed']));
    expect(states(shown(), 'workflow')).toEqual(expect.arrayContaining(['running', 'completed']));
    expect(states(shown(), 'artifact')).toEqual(expect.arrayContaining(['draft', 'final']));
  });
});
