import { randomUUID } from 'node:crypto';
import type { AgentSettings, AgentSummary, MessageData } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

const MANY = 40;

/** A request's whole prompt. */
const told = ({ messages }: ModelServerRequest): string => messages.map(({ content }) => textOf(content)).join('\n');
const LISTED = /^- (\w+): /gm;
/** The tools that are offered or listed and that the user can switch. */
const offered = ({ tools = [] }: ModelServerRequest): string[] =>
  tools
    .flatMap(({ function: { name, description } }) =>
      name === 'more_tools' ? [...String(description).matchAll(LISTED)].map(([, listed]) => listed ?? '') : [name],
    )
    .filter((name) => name !== 'stay_silent')
    .toSorted();

/** Tools by the entry that enables them. */
const MEMORIES = ['remember', 'recall', 'forget', 'search_conversation'];
const ARTIFACTS = [
  'create_artifact',
  'edit_artifact',
  'revise_artifact',
  'finish_artifact',
  'read_artifact',
  'list_artifacts',
];
const WEB = ['web_search_tool', 'read_page_tool'];
const FILES = ['read_file', 'create_file'];
/** Those with which the manager gives work to others, and changes the swarm. */
const SWARM = ['delegate', 'hand_over', 'start_workflow', 'add_agent', 'change_agent', 'remove_agent'];
const SCHEDULES = ['create_schedule', 'list_schedules', 'change_schedule', 'delete_schedule'];

describe('the next model request after a change of an agent', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let client: TestClient;
  let agents: AgentSummary[];
  /** `/v1/agents/<id>` for the manager, which answers in the swarm conversation. */
  let manager: string;
  beforeAll(async () => {
    model = await startModelServer({ script: () => [{ text: 'Understood.' }] });
    local = await runLocalMode({
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'none',
      OPENAI_MODEL: 'model-of-all',
      OPENAI_MODEL_FLASH: 'model-of-flash',
      OPENAI_MODEL_OPUS: 'model-of-opus',
      USWARM_DEFAULT_MODEL: 'opus',
    });
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    agents = ((await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`)).body as { data: AgentSummary[] })
      .data;
    manager = `/v1/agents/${agents[0]!.id}`;
  });
  afterEach(() => client?.close());

  const change = async (method: string, path: string, body?: unknown, expected = 200) =>
    expect((await client.api(method, path, body)).status).toBe(expected);
  /** Sends a message and returns the request to the model server. */
  const ask = async (): Promise<ModelServerRequest> => {
    const before = model.requests.length;
    const { answer } = await client.ask('Hello?');
    expect((answer as MessageData).content).toEqual({ type: 'text', text: 'Understood.' });
    expect(model.requests).toHaveLength(before + 1);
    return model.requests[before]!.body;
  };

  it('uses the default model of the runtime for the manager, then the configured one', async () => {
    expect((await ask()).model).toBe('model-of-opus');
    await change('PATCH', `${manager}/settings`, { model: 'flash' });
    expect((await ask()).model).toBe('model-of-flash');
    await change('PATCH', `${manager}/settings`, { model: 'sonnet' });
    expect((await ask()).model).toBe('model-of-all');
  });

  it('uses flash for a sub-agent, then the configured model', async () => {
    const subAgent = agents[1]!;
    const shown = async () =>
      ((await client.api('GET', `/v1/agents/${subAgent.id}/settings`)).body as { data: AgentSettings }).data.model;
    const path = `/v1/workspaces/${client.workspaceId}/conversations`;
    const { body } = await client.api('POST', path, { type: 'agent', agent_id: subAgent.id });
    const conversation = (body as { data: { id: string } }).data.id;
    const used = async () => {
      const before = model.requests.length;
      const text = { type: 'text', text: 'Hello?' };
      await change('POST', `${path}/${conversation}/messages`, { content: text, local_id: randomUUID() }, 201);
      await eventually(() => model.requests.length > before);
      return model.requests[before]!.body.model;
    };
    expect([await shown(), await used()]).toEqual(['flash', 'model-of-flash']);
    await change('PATCH', `/v1/agents/${subAgent.id}/settings`, { model: 'opus' });
    expect([await shown(), await used()]).toEqual(['opus', 'model-of-opus']);
  });

  it('contains the response length', async () => {
    expect(told(await ask())).not.toContain('Answer in');
    await change('PATCH', `${manager}/settings`, { response_length: 'short' });
    expect(told(await ask())).toContain('Answer in one to three sentences.');
    await change('PATCH', `${manager}/settings`, { response_length: 'long' });
    expect(told(await ask())).toContain('Answer in depth');
    await change('PATCH', `${manager}/settings`, { response_length: 'auto' });
    expect(told(await ask())).not.toContain('Answer in');
  });

  it('contains the prompts in their order', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const prompts = [one, other].map((content) => ({ id: content, name: 'n', description: 'd', content }));
    await change('PATCH', `${manager}/settings`, { prompts });
    expect(told(await ask())).toMatch(new RegExp(`${one}\\s+${other}`));
    await change('PATCH', `${manager}/settings`, { prompts: prompts.toReversed() });
    expect(told(await ask())).toMatch(new RegExp(`${other}\\s+${one}`));
    await change('PATCH', `${manager}/settings`, { prompts: [] });
    expect(told(await ask())).not.toContain(one);
  });

  it('contains the enabled tools', async () => {
    expect(offered(await ask())).toEqual(
      [...WEB, 'action_card_tool', ...MEMORIES, ...ARTIFACTS, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
    );
    await change('PATCH', `${manager}/tools/web_search_tool`, { enabled: false });
    expect(offered(await ask())).toEqual(
      ['read_page_tool', 'action_card_tool', ...MEMORIES, ...ARTIFACTS, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
    );
    await change('PATCH', `${manager}/tools/web_search_tool`, { enabled: true });
    await change('PATCH', `${manager}/tools/memories`, { enabled: false });
    expect(offered(await ask())).toEqual(
      [...WEB, 'action_card_tool', ...ARTIFACTS, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
    );
    await change('PATCH', `${manager}/tools/memories`, { enabled: true });
    await change('PATCH', `${manager}/tools/artifacts`, { enabled: false });
    expect(offered(await ask())).toEqual(
      [...WEB, 'action_card_tool', ...MEMORIES, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
    );
    await change('PATCH', `${manager}/tools/artifacts`, { enabled: true });
    expect(offered(await ask())).toEqual(
      [...WEB, 'action_card_tool', ...MEMORIES, ...ARTIFACTS, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
    );
  });

  it('contains the memories, unless they are deleted or disabled', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const key = 'what/they like ❤';
    await change('POST', `${manager}/memories`, { key, content: first, category: 'taste' });
    expect(told(await ask())).toContain(`- [taste] ${key}: ${first}`);
    await change('POST', `${manager}/memories`, { key, content: second });
    const replaced = told(await ask());
    expect([replaced.includes(first), replaced.includes(`- [core] ${key}: ${second}`)]).toEqual([false, true]);
    await change('PATCH', `${manager}/tools/memories`, { enabled: false });
    expect(told(await ask())).not.toContain(second);
    await change('PATCH', `${manager}/tools/memories`, { enabled: true });
    expect(told(await ask())).toContain(second);
    await change('DELETE', `${manager}/memories/${encodeURIComponent(key)}`, undefined, 204);
    expect(told(await ask())).not.toContain(second);
  });

  it('contains no settings of another agent', async () => {
    const secret = randomUUID();
    const colleague = `/v1/agents/${agents[1]!.id}`;
    const prompts = [{ id: 'a', name: 'n', description: 'd', content: secret }];
    await change('PATCH', `${colleague}/settings`, { model: 'sonnet', response_length: 'short', prompts });
    await change('PATCH', `${colleague}/tools/web_search_tool`, { enabled: false });
    await change('POST', `${colleague}/memories`, { key: 'secret', content: secret, scope: 'agent' });
    const request = await ask();
    expect([request.model, offered(request), told(request).includes(secret)]).toEqual([
      'model-of-opus',
      [...WEB, 'action_card_tool', ...MEMORIES, ...ARTIFACTS, ...FILES, ...SWARM, ...SCHEDULES].toSorted(),
      false,
    ]);
    expect(told(request)).not.toContain('Answer in');
  });

  it('leaves out memories above the size limit', async () => {
    for (let n = 0; n < MANY; n += 1) {
      await change('POST', `${manager}/memories`, {
        key: `memory-${n}-`,
        content: 'x'.repeat(8_192),
        category: 'more',
      });
    }
    const request = told(await ask());
    const kept = Array.from({ length: MANY }, (_, n) => request.includes(`memory-${n}-`));
    expect(new Set(kept)).toEqual(new Set([true, false]));
    expect(Buffer.byteLength(request)).toBeLessThan(300 * 1024);
  });
});
