import { randomUUID } from 'node:crypto';
import { HttpAgent, type RunAgentParameters } from '@ag-ui/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AgentSummary, MessageData, NewApiToken } from '@uswarm/contract';
import { type ModelStep, words } from '@uswarm/dev-servers';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { startTestClient } from '@uswarm/testkit/test-client';
import { fetchUntilLost, lastText, runAgent as run, type Seen, textsOf, untilText } from '../test/ag-ui.js';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';

const ANSWER = 'one two three';
const MEMORY = { key: 'tea', content: 'Tea is green.' };

describe('the AG-UI door', () => {
  const world = useDelegatingAgents({ WORK_LEASE_MS: '3000' });
  let proxy: FaultInjectionProxy;
  let token: string;
  let warned: ReturnType<typeof jest.spyOn>;
  beforeAll(async () => {
    proxy = await startFaultInjectionProxy(world.services.restUrl);
  });
  afterAll(() => proxy?.close());
  beforeEach(async () => {
    world.behave = () => words(ANSWER);
    token = await tokenFor({ scopes: ['write'] });
    warned = jest.spyOn(console, 'warn');
  });
  afterEach(() => {
    const warnings = warned.mock.calls.map(String);
    jest.restoreAllMocks();
    // The client warns of everything that the protocol does not define.
    if (warnings.length > 0) throw new Error(warnings.join('\n'));
  });

  async function tokenFor(limits: object): Promise<string> {
    const { body } = await world.client.api('POST', '/v1/api-tokens', { name: 'Front end', ...limits });
    return (body as { data: NewApiToken }).data.token;
  }
  function agentOf({
    threadId,
    bearer = token,
    query = '',
  }: { threadId?: string; bearer?: string; query?: string } = {}) {
    const url = `${proxy.redirect(world.services.restUrl).replace(/\/$/, '')}/v1/ag-ui${query}`;
    const headers = { Authorization: `Bearer ${bearer}` };
    return new HttpAgent({ url, headers, threadId: threadId ?? randomUUID(), fetch: fetchUntilLost });
  }
  const says = (agent: HttpAgent, content: string): void =>
    agent.addMessage({ id: randomUUID(), role: 'user', content });

  async function refusal(agent: HttpAgent, parameters: RunAgentParameters = {}): Promise<unknown> {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const error = await run(agent, parameters).catch((thrown: unknown) => thrown);
    logged.mockRestore();
    const { status, payload } = error as { status?: number; payload?: { code: string } };
    return { status, code: payload?.code };
  }
  async function conversations(): Promise<{ id: string; agent?: { slug: string } }[]> {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/conversations`);
    return (body as { data: { id: string }[] }).data;
  }
  async function questions(): Promise<string[]> {
    const texts = [];
    for (const { id } of await conversations()) {
      const path = `/v1/workspaces/${world.client.workspaceId}/conversations/${id}/messages?direction=forward`;
      const { data } = (await world.client.api('GET', path)).body as { data: MessageData[] };
      for (const { role, content } of data) if (role === 'user' && content.type === 'text') texts.push(content.text);
    }
    return texts;
  }
  async function permit(tool: string, permission: 'allow' | 'ask'): Promise<void> {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    for (const { id } of (body as { data: AgentSummary[] }).data)
      await world.client.api('PATCH', `/v1/agents/${id}/tools/${tool}`, { permission });
  }
  const remember: ModelStep = { toolCalls: [{ name: 'remember', arguments: MEMORY }] };
  const calling = (steps: ModelStep[], then: string) => (_agent: string, _prompt: string, results: readonly string[]) =>
    results.length === 0 ? steps : words(then);

  describe('with the unmodified client', () => {
    it('streams a text while it is written, and continues the thread', async () => {
      const hold = randomUUID();
      world.behave = () => [{ text: 'one ' }, { hold }, { text: 'two three' }];
      const agent = agentOf();
      says(agent, 'Count');
      const first = await run(
        agent,
        {},
        untilText('one', () => world.model.release(hold)),
      );
      expect({ texts: textsOf(first.newMessages), types: first.types, outcome: first.outcome }).toEqual({
        texts: [ANSWER],
        types: [
          'RUN_STARTED',
          'TEXT_MESSAGE_START',
          'TEXT_MESSAGE_CONTENT',
          'TEXT_MESSAGE_CONTENT',
          'TEXT_MESSAGE_END',
          'RUN_FINISHED',
        ],
        outcome: { type: 'success' },
      });
      says(agent, 'Again');
      await run(agent);
      expect(textsOf(agent.messages)).toEqual([ANSWER, ANSWER]);
      expect(await questions()).toEqual(['Count', 'Again']);
    });

    it('shows a call of a tool with its result', async () => {
      world.behave = calling([remember], 'Saved.');
      const agent = agentOf();
      says(agent, 'Remember that');
      const { types, newMessages } = await run(agent);
      expect(types.filter((type) => type.startsWith('TOOL_CALL_'))).toEqual([
        'TOOL_CALL_START',
        'TOOL_CALL_ARGS',
        'TOOL_CALL_END',
        'TOOL_CALL_RESULT',
      ]);
      // The text can arrive first.
      const inOrder = newMessages.toSorted((a, b) => Number(b.role === 'tool') - Number(a.role === 'tool'));
      expect(inOrder).toHaveLength(3);
      expect(inOrder[0]).toMatchObject({ role: 'tool', content: 'completed' });
      expect(inOrder).toContainEqual(expect.objectContaining({ role: 'assistant', content: 'Saved.' }));
      const toolCalls = [expect.objectContaining({ function: expect.objectContaining({ name: 'remember' }) })];
      expect(inOrder).toContainEqual(expect.objectContaining({ role: 'assistant', toolCalls }));
    });

    it.each([
      ['approves', { approved: true }, 'I saved it.', [{ key: 'tea' }]],
      ['denies', { approved: false }, 'Then not.', []],
    ])(
      'ends with an interrupt for an approval, and continues when the user %s',
      async (_what, payload, text, saved) => {
        await permit('memories', 'ask');
        world.behave = (_agent, _prompt, results) => {
          if (results.length === 0) return [{ text: 'I will save that.' }, remember];
          return words(results.at(-1)?.includes('denied') === true ? 'Then not.' : 'I saved it.');
        };
        const agent = agentOf();
        says(agent, 'I drink green tea');
        const asked = await run(agent);
        expect(asked.outcome).toMatchObject({
          type: 'interrupt',
          interrupts: [{ reason: 'confirmation', message: expect.stringContaining('Remembering “tea”') }],
        });
        const [interrupt] = agent.pendingInterrupts;
        const resume = [{ interruptId: interrupt!.id, status: 'resolved' as const, payload }];
        const { outcome } = await run(agent, { resume });
        // A decision that comes before the turn has ended continues its message.
        const said = textsOf(agent.messages).join('\n\n');
        expect({ outcome, said, pending: agent.pendingInterrupts }).toEqual({
          outcome: { type: 'success' },
          said: `I will save that.\n\n${text}`,
          pending: [],
        });
        const memories = await world.services.query(
          `SELECT m.key FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`,
          [world.client.workspaceId],
        );
        expect(memories).toEqual(saved);
      },
    );

    it('denies what the user leaves open, and does it once if the run is repeated', async () => {
      await permit('memories', 'ask');
      world.behave = calling([remember], 'Then not.');
      const agent = agentOf();
      says(agent, 'I drink green tea');
      await run(agent);
      const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
      const runId = randomUUID();
      const calls = world.calls.length;
      await run(agent, { runId, resume });
      const again = await run(agent, { runId, resume });
      expect({ texts: textsOf(agent.messages), outcome: again.outcome }).toEqual({
        texts: ['Then not.'],
        outcome: { type: 'success' },
      });
      expect(world.calls).toHaveLength(calls + 1);
    });

    it('answers after the user has chosen on a card of the agent', async () => {
      const card = { title: 'Which?', actions: [{ label: 'Green' }, { label: 'Black' }] };
      world.behave = (_agent, prompt, results) => {
        if (prompt.endsWith('Black')) return words('Black it is.');
        return results.length === 0 ? [{ toolCalls: [{ name: 'action_card_tool', arguments: card }] }] : [];
      };
      const agent = agentOf();
      says(agent, 'Tea, please');
      await run(agent);
      const [interrupt] = agent.pendingInterrupts;
      expect(interrupt).toMatchObject({ reason: 'input_required', message: 'Which?' });
      const { oneOf } = (interrupt!.responseSchema!['properties'] as { action_id: { oneOf: { const: string }[] } })
        .action_id;
      const payload = { action_id: oneOf[1]!.const };
      await run(agent, { resume: [{ interruptId: interrupt!.id, status: 'resolved', payload }] });
      expect(lastText(agent)).toBe('Black it is.');
    });

    it('shows a task for another agent from its start to its end, and ends with the answer', async () => {
      world.behave = (agent, prompt, results) => {
        if (isTask(prompt)) return results.length === 0 ? [remember] : [{ text: `Facts of ${agent}.` }];
        return results.length === 0 ? delegate('researcher', 'writer') : words('Together: two results.');
      };
      const agent = agentOf();
      says(agent, 'Ask your team');
      const { events, outcome } = await run(agent);
      const tasks = events.filter(({ type }) => String(type).startsWith('SUBAGENT_'));
      expect(tasks.map(({ type, name = '' }) => `${type} ${String(name)}`).toSorted()).toEqual([
        'SUBAGENT_FINISHED ',
        'SUBAGENT_FINISHED ',
        'SUBAGENT_STARTED researcher',
        'SUBAGENT_STARTED writer',
      ]);
      const started = tasks.flatMap(({ name, subagentRunId }) => (name === undefined ? [] : [subagentRunId]));
      const owners = (type: string) =>
        events.flatMap((event) => (String(event.type) === type ? [event['subagentRunId']] : []));
      expect(owners('TOOL_CALL_START').toSorted()).toEqual(started.toSorted());
      expect(owners('TOOL_CALL_RESULT').toSorted()).toEqual(started.toSorted());
      expect(owners('TEXT_MESSAGE_START')).toEqual([undefined]);
      expect(outcome).toEqual({ type: 'success' });
      expect(lastText(agent)).toBe('Together: two results.');
      const shown = agent.messages.flatMap((message) => (message.role === 'activity' ? [message] : []));
      expect(shown).toMatchObject([
        { activityType: 'delegation', content: { status: 'completed', to: { slug: 'researcher' } } },
        { activityType: 'delegation', content: { status: 'completed', to: { slug: 'writer' } } },
      ]);
    });

    it('suspends a task that waits for an approval, and continues it after that', async () => {
      await permit('memories', 'ask');
      world.behave = (_agent, prompt, results) => {
        if (isTask(prompt)) return results.length === 0 ? [remember] : [{ text: 'Saved.' }];
        return results.length === 0 ? delegate('researcher') : words('It is saved.');
      };
      const agent = agentOf();
      says(agent, 'Let your team remember that tea is green');
      const taskEvents = (events: readonly Seen[]) =>
        events.flatMap(({ type, subagentRunId, outcome }) =>
          String(type).startsWith('SUBAGENT_') ? [[String(type), subagentRunId, outcome?.type]] : [],
        );
      const asked = await run(agent);
      const [[, id] = []] = taskEvents(asked.events);
      const [interrupt] = agent.pendingInterrupts;
      const resume = [{ interruptId: interrupt!.id, status: 'resolved' as const, payload: { approved: true } }];
      const continued = await run(agent, { resume });
      expect({
        asked: taskEvents(asked.events),
        continued: taskEvents(continued.events),
        text: lastText(agent),
      }).toEqual({
        asked: [
          ['SUBAGENT_STARTED', id, undefined],
          ['SUBAGENT_FINISHED', id, 'suspended'],
        ],
        continued: [
          ['SUBAGENT_STARTED', id, undefined],
          ['SUBAGENT_FINISHED', id, 'success'],
        ],
        text: 'It is saved.',
      });
    });

    it('shows a document as an activity', async () => {
      const document = { title: 'Tea', content: '# Tea\n\nIt is green.' };
      world.behave = calling([{ toolCalls: [{ name: 'create_artifact', arguments: document }] }], 'Here it is.');
      const agent = agentOf();
      says(agent, 'Write about tea');
      const { newMessages } = await run(agent);
      expect(newMessages).toContainEqual(
        expect.objectContaining({
          role: 'activity',
          activityType: 'artifact',
          content: expect.objectContaining({ title: 'Tea', version: 1 }),
        }),
      );
      expect(lastText(agent)).toBe('Here it is.');
    });

    it('asks the agent that the address or the forwarded properties name', async () => {
      const agent = agentOf({ query: '?agent=researcher' });
      says(agent, 'Count');
      await run(agent);
      const other = agentOf({ query: '?agent=researcher' });
      says(other, 'Count');
      await run(other, { forwardedProps: { agent: 'writer' } });
      const slugs = (await conversations()).map(({ agent: one }) => one?.slug);
      expect(slugs).toEqual(expect.arrayContaining(['researcher', 'writer']));
    });

    it('leaves out content that agents cannot read', async () => {
      const agent = agentOf();
      const image = { type: 'image' as const, source: { type: 'url' as const, value: 'https://example.com/a.png' } };
      agent.addMessage({ id: randomUUID(), role: 'user', content: [{ type: 'text', text: 'Count' }, image] });
      await run(agent);
      expect({ text: lastText(agent), questions: await questions() }).toEqual({ text: ANSWER, questions: ['Count'] });
    });
  });

  describe('that lost its connection', () => {
    const BEGIN = 'The beginning of a long answer, ';
    const MIDDLE = 'the part that is written meanwhile, ';
    const END = 'and its end.';
    const WHOLE = BEGIN + MIDDLE + END;

    /** A run whose connection is cut after the beginning. @returns what lets the agent write the end */
    async function cut(agent: HttpAgent, runId: string): Promise<() => void> {
      const [cutOff, attached] = [randomUUID(), randomUUID()];
      world.behave = () => [...words(BEGIN), { hold: cutOff }, ...words(MIDDLE), { hold: attached }, ...words(END)];
      says(agent, 'Tell me a story');
      const { outcome } = await run(
        agent,
        { runId },
        untilText(BEGIN.trim(), () => void proxy.disconnect()),
      );
      expect({ outcome, text: lastText(agent) }).toEqual({ outcome: undefined, text: BEGIN });
      world.model.release(cutOff);
      await world.model.reached(attached);
      await proxy.restore();
      return () => world.model.release(attached);
    }

    it.each([
      ['the same run', true],
      ['a new run', false],
    ])('has the same text after %s, which sends what the client lacks while it is written', async (_what, isSame) => {
      const agent = agentOf();
      const runId = randomUUID();
      const release = await cut(agent, runId);
      const { events, outcome } = await run(agent, isSame ? { runId } : {}, untilText(MIDDLE.trim(), release));
      expect({ texts: textsOf(agent.messages), outcome }).toEqual({ texts: [WHOLE], outcome: { type: 'success' } });
      const sent = events.flatMap(({ delta }) => (typeof delta === 'string' ? [delta] : [])).join('');
      expect({ sent, questions: await questions() }).toEqual({ sent: MIDDLE + END, questions: ['Tell me a story'] });
    });

    it('has the whole answer in a client that has forgotten everything but the ids', async () => {
      const [threadId, runId] = [randomUUID(), randomUUID()];
      const release = await cut(agentOf({ threadId }), runId);
      const reloaded = agentOf({ threadId });
      await run(reloaded, { runId }, untilText(MIDDLE.trim(), release));
      // Also when the answer has ended.
      const later = agentOf({ threadId });
      await run(later, { runId });
      expect([reloaded, later].map(({ messages }) => textsOf(messages))).toEqual([[WHOLE], [WHOLE]]);
      expect(await questions()).toEqual(['Tell me a story']);
    });

    it('has the same text from another orchestrator if the one that it asked is killed', async () => {
      const agent = agentOf();
      const runId = randomUUID();
      const release = await cut(agent, runId);
      await world.services.kill('the orchestrator', world.client.workspaceId);
      release();
      await world.services.recover('the orchestrator');
      const { outcome } = await run(agent, { runId });
      expect({ texts: textsOf(agent.messages), outcome, questions: await questions() }).toEqual({
        texts: [WHOLE],
        outcome: { type: 'success' },
        questions: ['Tell me a story'],
      });
    });

    it('has the text of the second attempt, which is another one, if orchestrator and runtime are killed', async () => {
      const agent = agentOf();
      const runId = randomUUID();
      const release = await cut(agent, runId);
      world.behave = () => words('A quite different story.');
      await world.services.kill('both', world.client.workspaceId);
      release();
      await world.services.recover('both');
      const { outcome, types } = await run(agent, { runId });
      expect({ texts: textsOf(agent.messages), outcome }).toEqual({
        texts: ['A quite different story.'],
        outcome: { type: 'success' },
      });
      expect(types).toContain('MESSAGES_SNAPSHOT');
    });

    it('does not stop the answer', async () => {
      const hold = randomUUID();
      world.behave = () => [...words('one '), { hold }, ...words('two')];
      const agent = agentOf();
      says(agent, 'Count');
      const runId = randomUUID();
      await run(
        agent,
        { runId },
        untilText('one', () => agent.abortRun()),
      );
      world.model.release(hold);
      await run(agent, { runId });
      expect(lastText(agent)).toBe('one two');
    });
  });

  it('ends as cancelled if the user stops the answer', async () => {
    const hold = randomUUID();
    world.behave = () => [...words('one '), { hold }, ...words('two')];
    const agent = agentOf();
    says(agent, 'Count');
    const running = run(agent);
    await world.model.reached(hold);
    const asked = await world.client.shown(({ content }) => content.type === 'text' && content.text === 'Count');
    await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/messages/${asked.id}/stop`);
    const { outcome } = await running;
    expect({ outcome, text: lastText(agent) }).toEqual({ outcome: { type: 'cancelled' }, text: 'one ' });
    world.model.release(hold);
  });

  it('reports an answer that fails with its reason', async () => {
    world.behave = () => [{ error: { status: 400 } }];
    const agent = agentOf();
    says(agent, 'Count');
    const { events } = await run(agent);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'model_rejected' });
  });

  it('begins one conversation for a thread whose first runs come at the same time', async () => {
    const before = await conversations();
    const threadId = randomUUID();
    const agents = [agentOf({ threadId }), agentOf({ threadId })];
    for (const agent of agents) says(agent, 'Count');
    await Promise.all(agents.map((agent) => run(agent)));
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/events?since=0`);
    const announced = (body as { data: { event: string }[] }).data.filter(({ event }) => event === 'conversation.new');
    expect({
      texts: agents.map(lastText),
      begun: (await conversations()).length - before.length,
      announced: announced.length,
    }).toEqual({ texts: [ANSWER, ANSWER], begun: 1, announced: 1 });
  });

  it('answers both of two runs in one thread, also if one answer is for both', async () => {
    const hold = randomUUID();
    const threadId = randomUUID();
    world.behave = (_agent, prompt) => (prompt.endsWith('First') ? [{ hold }, ...words('one')] : words('all'));
    const agents = [agentOf({ threadId }), agentOf({ threadId }), agentOf({ threadId })];
    const [first, second, third] = agents as [HttpAgent, HttpAgent, HttpAgent];
    says(first, 'First');
    const runs = [run(first)];
    await world.model.reached(hold);
    says(second, 'Second');
    runs.push(run(second));
    await world.client.shown(({ content }) => content.type === 'text' && content.text === 'Second');
    says(third, 'Third');
    runs.push(run(third));
    await world.client.shown(({ content }) => content.type === 'text' && content.text === 'Third');
    world.model.release(hold);
    await Promise.all(runs);
    expect(agents.map(lastText)).toEqual(['one', 'all', 'all']);
  });

  describe('refuses, with a status that the client reports,', () => {
    it('an unknown agent, workspace and card, and a run without a text', async () => {
      const asking = (query = ''): HttpAgent => {
        const agent = agentOf({ query });
        says(agent, 'Count');
        return agent;
      };
      const resume = [{ interruptId: randomUUID(), status: 'resolved' as const, payload: true }];
      expect({
        agent: await refusal(asking('?agent=nobody')),
        workspace: await refusal(asking(`?workspace_id=${randomUUID()}`)),
        card: await refusal(asking(), { resume }),
        payload: await refusal(asking(), { resume: [{ ...resume[0]!, payload: 'what' }] }),
        nothing: await refusal(agentOf()),
      }).toEqual({
        agent: { status: 404, code: 'agent_not_found' },
        workspace: { status: 404, code: 'workspace_not_found' },
        card: { status: 404, code: 'message_not_found' },
        payload: { status: 400, code: 'validation_failed' },
        nothing: { status: 404, code: 'message_not_found' },
      });
    });

    it('a wrong token and one that only reads', async () => {
      const withToken = (bearer: string): HttpAgent => {
        const agent = agentOf({ bearer });
        says(agent, 'Count');
        return agent;
      };
      expect([
        await refusal(withToken('wrong')),
        await refusal(withToken(await tokenFor({ scopes: ['read'] }))),
      ]).toEqual([
        { status: 401, code: 'token_invalid' },
        { status: 403, code: 'token_not_permitted' },
      ]);
    });

    it.each([
      ['[]', /^The request is not valid: Invalid input: expected object/],
      ['{"threadId":1,"runId":"r","messages":[]}', /^The request is not valid: threadId Invalid input/],
      ['{"threadId":"t","runId":"r","messages":[{}]}', /not valid: messages\.0\.id .*; messages\.0\.role /],
      ['{', /not valid JSON/],
    ])('nonsense: %s', async (body, message) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(`${world.services.restUrl}/v1/ag-ui`, { method: 'POST', headers, body });
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: {
          type: 'RUN_ERROR',
          code: body === '{' ? 'malformed_json' : 'validation_failed',
          message: expect.stringMatching(message),
        },
      });
    });
  });

  it("keeps another user's thread and cards to that user", async () => {
    await permit('memories', 'ask');
    world.behave = calling([remember], 'Saved.');
    const agent = agentOf();
    const runId = randomUUID();
    says(agent, 'I drink green tea');
    await run(agent, { runId });
    const [{ id: conversationId } = { id: '' }] = await conversations();
    const bearer = await world.services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Bob' });
    (await startTestClient({ ...world.services, token: bearer })).close();
    const stranger = (threadId: string): HttpAgent => agentOf({ threadId, bearer });
    const resume = agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: true },
    }));
    expect([
      await refusal(stranger(agent.threadId), { runId }),
      await refusal(stranger(conversationId), { runId }),
      await refusal(stranger(agent.threadId), { resume }),
    ]).toEqual(Array.from({ length: 3 }, () => ({ status: 404, code: 'message_not_found' })));
  });
});
