import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData } from '@uswarm/contract';
import { type ModelServer, startModelServer, textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const PROJECTS = 84;
const codeOf = (project: number): string => `K${7_000 + project * 13}`;

/** Answers with a code that its prompt has, and searches for one that it has not. Its summaries have no codes. */
async function startForgetfulModel() {
  const seen = { searches: 0, prompt: '', summarized: [] as number[] };
  const projectsIn = (text: string): number[] =>
    [...text.matchAll(/My code for project P(\d+) is/g)].map(([, project]) => Number(project));
  const server = await startModelServer({
    script: ({ messages }) => {
      const texts = messages.map(({ content }) => textOf(content));
      const prompt = texts.join('\n');
      if (texts[0]?.startsWith('You summarize')) {
        seen.summarized.push(...projectsIn(prompt));
        return [{ text: 'The user named the codes of many projects.' }];
      }
      if (texts[0]?.startsWith('You write the title')) return [{ text: 'Codes' }];
      const project = /What is my code for project (P\d+)\?$/.exec(
        texts.findLast((_, index) => messages[index]?.role === 'user') ?? '',
      )?.[1];
      seen.prompt = prompt;
      const code = new RegExp(`My code for project ${project} is (K\\d+)`).exec(prompt)?.[1];
      if (code !== undefined) return [{ text: code }];
      if (messages.at(-1)?.role === 'tool') return [{ text: 'I do not know.' }];
      seen.searches += 1;
      return [{ toolCalls: [{ name: 'search_conversation', arguments: { query: `code project ${project}` } }] }];
    },
  });
  return { server, seen, projectsIn };
}

describe('84 codes that the user told one after the other', () => {
  let services: SeparateServices | undefined;
  let model: ModelServer | undefined;
  afterEach(async () => {
    await services?.close();
    await model?.close();
  });

  it.each([
    { window: 8_192, searches: true },
    { window: 32_768, searches: false },
    { window: 128_000, searches: false },
  ])('are all known with a window of $window tokens', async ({ window, searches }) => {
    const { server, seen, projectsIn } = await startForgetfulModel();
    model = server;
    services = await startSeparateServices({
      ...modelSettings(server),
      USWARM_MODEL_CONTEXT_WINDOW: String(window),
      SUMMARY_WORKERS: '1',
    });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    const client = await startTestClient({ ...services, token });
    const place = [client.workspaceId, client.conversationId];
    const texts = Array.from({ length: PROJECTS }, (_, n) => `My code for project P${n + 1} is ${codeOf(n + 1)}.`);
    await services.query(
      `INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status, sender_id, agent_id)
       SELECT gen_random_uuid(), w.id, $2, w.last_seq + 2 * n + reply, CASE reply WHEN 0 THEN 'user' ELSE 'agent' END,
         jsonb_build_object('type', 'text', 'text', CASE reply WHEN 0 THEN text ELSE 'Noted.' END), 'delivered',
         CASE reply WHEN 0 THEN w.owner_id END, CASE reply WHEN 1 THEN a.id END
       FROM workspaces w JOIN agents a ON a.workspace_id = w.id AND a.kind = 'manager',
         unnest($3::text[]) WITH ORDINALITY u (text, n), generate_series(0, 1) reply
       WHERE w.id = $1`,
      [...place, texts],
    );
    await services.query('UPDATE workspaces SET last_seq = last_seq + 1000 WHERE id = $1', [client.workspaceId]);
    // Not from the socket: the inserted messages have no events.
    const messages = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    const ask = async (project: number): Promise<string> => {
      const content = { type: 'text', text: `What is my code for project P${project}?` };
      const { body } = await client.api('POST', messages, { content, local_id: randomUUID() });
      const { id } = (body as { data: MessageData }).data;
      const replies = async () => {
        const { data } = (await client.api('GET', `${messages}?limit=10`)).body as { data: MessageData[] };
        return data.flatMap((message) => {
          const isReply = message.in_reply_to === id && message.status === 'delivered';
          return isReply && message.content.type === 'text' ? [message.content.text] : [];
        });
      };
      return (await eventually(replies, { until: (found) => found.length > 0, timeoutMs: 30_000 }))[0] ?? '';
    };
    expect(await ask(3)).toBe(codeOf(3));
    const jobs = () => services!.query(`SELECT FROM work WHERE kind IN ('summary', 'title')`);
    await eventually(jobs, { until: (rows) => rows.length === 0 });
    expect([await ask(4), await ask(PROJECTS)]).toEqual([codeOf(4), codeOf(PROJECTS)]);
    // Each code is in the summary, or in the prompt.
    const whole = projectsIn(seen.prompt.slice(0, seen.prompt.lastIndexOf('What is my code')));
    expect([...seen.summarized, ...whole].slice(0, PROJECTS)).toEqual(texts.map((_, n) => n + 1));
    expect({ searches: seen.searches > 0, summaries: seen.summarized.length > 0 }).toEqual({
      searches,
      summaries: searches,
    });
    client.close();
  });
});

describe('a memory that the manager was told', () => {
  const world = useDelegatingAgents();
  const tea = 'The user drinks Darjeeling.';

  it('is in the prompt of a task, and of another agent with which the user talks', async () => {
    const prompts: Record<string, string> = {};
    world.behave = (agent, prompt, results) => {
      const { messages } = world.model.requests.at(-1)!.body;
      prompts[isTask(prompt) ? `task of ${agent}` : agent] = messages.map(({ content }) => textOf(content)).join('\n');
      if (results.length > 0 || agent !== 'manager') return [{ text: 'Done.' }];
      if (prompt.endsWith('Ask your team')) return delegate('writer');
      return [{ toolCalls: [{ name: 'remember', arguments: { key: 'tea', content: tea, category: 'core' } }] }];
    };
    const { client } = world;
    await client.ask('I drink Darjeeling');
    await client.ask('Ask your team');
    expect(prompts['task of writer']).toContain(tea);
    const [writer] = await world.services.query<{ id: string }>(
      `SELECT id FROM agents WHERE workspace_id = $1 AND slug = 'writer'`,
      [client.workspaceId],
    );
    const body = { type: 'agent', agent_id: writer?.id, local_id: randomUUID() };
    const created = await client.api('POST', `/v1/workspaces/${client.workspaceId}/conversations`, body);
    const conversation = (created.body as { data: Conversation }).data;
    await client.send('Which tea do I drink?', conversation.id);
    await eventually(async () => prompts['writer'], { until: (prompt) => prompt !== undefined });
    expect(prompts['writer']).toContain(tea);
    const listed = await client.api('GET', `/v1/agents/${writer?.id}/memories`);
    expect(listed.body).toMatchObject({
      data: [{ key: 'tea', content: tea, scope: 'workspace', created_by: 'agent' }],
    });
  });
});
