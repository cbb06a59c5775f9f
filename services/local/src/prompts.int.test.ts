import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentSummary } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { type RunningProgram, runLocalMode } from '../test/local.js';

/** For a question that needs no tool, of a user without memories, files or connected apps. */
const MAX_TOKENS = 1_340;

const systemOf = ({ messages }: ModelServerRequest): string => textOf(messages[0]?.content);

/** Everything that a model reads before the conversation, but the schemas. */
function shown(request: ModelServerRequest): string {
  const tools = (request.tools ?? []).map(({ function: tool }) => `${tool.name}: ${tool.description}`);
  return `${systemOf(request)}\n\n--- tools ---\n\n${tools.join('\n\n')}\n`;
}

/** The text that was reviewed. After an intended change, UPDATE_PROMPTS=1 writes it again. */
function reviewed(name: string, text: string): string {
  const file = fileURLToPath(new URL(`../test/prompts/${name}.txt`, import.meta.url));
  if (process.env['UPDATE_PROMPTS'] === '1') writeFileSync(file, text);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

describe('the prompt of', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let client: TestClient;
  let agents: AgentSummary[];
  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        const [last] = messages.slice(-1);
        if (last?.role === 'tool') return [{ text: 'It is done.' }];
        if (!textOf(last?.content).includes('Let the writer')) return [{ text: 'Four.' }];
        const task = { agent: 'writer', task: 'Write a haiku about tea.', expected: 'Three lines.' };
        return [{ toolCalls: [{ name: 'delegate', arguments: task }] }];
      },
    });
    local = await runLocalMode({
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'none',
      OPENAI_MODEL: 'any',
    });
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    agents = (body as { data: AgentSummary[] }).data;
  });
  afterAll(async () => {
    client?.close();
    await local?.stop();
    await model?.close();
  });

  const requestOf = (system: string): ModelServerRequest | undefined =>
    model.requests.map(({ body }) => body).find((body) => systemOf(body).startsWith(system));

  it('the manager is small for a simple question, and tells it how to work', async () => {
    await client.ask('2+2');
    const request = requestOf('You are Manager')!;
    expect(shown(request)).toBe(reviewed('manager', shown(request)));
    const { messages, tools } = request;
    const written = messages.map(({ content }) => textOf(content)).join('\n');
    expect(countTokens(written) + countTokens(JSON.stringify(tools))).toBeLessThanOrEqual(MAX_TOKENS);
  });

  it.each(['researcher', 'analyst', 'coder'])('the %s is the same without the work of a manager', async (slug) => {
    const { id, name } = agents.find((agent) => agent.slug === slug)!;
    const path = `/v1/workspaces/${client.workspaceId}/conversations`;
    const { body } = await client.api('POST', path, { type: 'agent', agent_id: id });
    const conversation = (body as { data: { id: string } }).data.id;
    await client.api('POST', `${path}/${conversation}/messages`, {
      content: { type: 'text', text: '2+2' },
      local_id: randomUUID(),
    });
    const isAsked = () => requestOf(`You are ${name}`) !== undefined;
    await eventually(isAsked);
    const text = shown(requestOf(`You are ${name}`)!);
    expect(text).toBe(reviewed(slug, text));
  });

  it('an agent with a task tells it that no user reads the answer', async () => {
    await client.ask('Let the writer write something.');
    await eventually(() => requestOf('You are Writer') !== undefined);
    const text = shown(requestOf('You are Writer')!);
    expect(text).toBe(reviewed('writer-task', text));
  });
});
