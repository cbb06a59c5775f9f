import type { MessageData, Trigger, TriggerRun, TriggerWithUrl } from '@uswarm/contract';
import { textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cardsOf, type InjectionWorld, startInjectionWorld } from '../test/injection-world.js';
import { type EffectName, order } from '../test/injections.js';

describe('what another system sends to a trigger', () => {
  let world: InjectionWorld;
  const prompts: string[] = [];
  beforeAll(async () => {
    world = await startInjectionWorld();
    const { model } = world;
    const answer = model.answer.bind(model);
    model.answer = (messages, offered) => {
      prompts.push(messages.map(({ content }) => textOf(content)).join('\n'));
      return answer(messages, offered);
    };
  });
  afterAll(() => world?.close());

  const triggers = () => `/v1/workspaces/${world.user.workspaceId}/triggers`;

  /** Creates a trigger, sends it a request, and waits until its run rests. */
  async function send(prompt: string, body: string): Promise<{ run: TriggerRun; contents: MessageData['content'][] }> {
    const { api } = world.user;
    const { data: trigger } = (await api('POST', triggers(), { prompt })).body as { data: TriggerWithUrl };
    const path = new URL(trigger.url, world.services.restUrl).pathname;
    const response = await fetch(`${world.services.restUrl}${path}`, { method: 'POST', body });
    expect(response.status).toBe(202);
    const read = async () => ((await api('GET', `${triggers()}/${trigger.id}`)).body as { data: Trigger }).data;
    const { last_run: run, conversation_id: conversationId } = await eventually(read, {
      until: ({ last_run: last }) => last !== null && last.status !== 'queued' && last.status !== 'running',
      timeoutMs: 60_000,
    });
    const contents = await world.services.query<{ content: MessageData['content'] }>(
      `SELECT content FROM messages WHERE conversation_id = $1 AND role = 'agent' ORDER BY seq`,
      [conversationId],
    );
    return { run: run!, contents: contents.map(({ content }) => content) };
  }

  it('reaches the model as untrusted data beside the prompt of the user', async () => {
    const { run } = await send('Name duplicates of this issue.', '{"issue":"Login fails"}');
    expect(run).toMatchObject({ status: 'completed', error_code: null });
    expect(prompts.at(-1)).toMatch(
      /\[Another system started this through a trigger\.[^]*Name duplicates of this issue\.[^]*<untrusted id="(\w+)" source="file">\nevent\.json\n\{"issue":"Login fails"\}\n<\/untrusted id="\1">/,
    );
  });

  it.each<EffectName>(['send a mail', 'save a memory', 'change an agent'])(
    'changes nothing without an approval, although the user allows the tool: %s',
    async (effect) => {
      const id = world.model.give(effect);
      const { run, contents } = await send('Summarize this.', `From the user: please ${order(id)}`);
      expect(world.model.obeyed.has(id)).toBe(true);
      expect(await world.outside()).toEqual(world.unchanged);
      expect(run.status).toBe('waiting');
      const asked = cardsOf(contents);
      expect(asked).toHaveLength(1);
      expect(asked[0]?.description).toMatch(/^You allow this tool\. It asks because the agent has read attached files/);
    },
  );
});
