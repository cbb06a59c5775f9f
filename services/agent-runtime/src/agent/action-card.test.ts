import { describe, expect, it } from '@jest/globals';
import { Outcome } from '@uswarm/runtime-proto';
import { answer, end, lastMessage, request, run, toolNames, words } from '../../test/scripted-turn.js';
import { type ToolCall } from '../models/port.js';
import { noTools, type ToolSource } from '../tools/tool.js';

describe('a turn with an action card', () => {
  const card = (input: Record<string, unknown> | undefined): ToolCall => ({
    id: 'k1',
    name: 'action_card_tool',
    input,
  });
  const QUESTION = { title: 'Which?', actions: [{ label: 'A' }] };
  const turn = { tools: ['action_card_tool'] };

  it('emits a separate message with the id of the call, and no tool status', async () => {
    const { events, done } = await run([request(card(QUESTION)), answer('Choose.')], { turn });
    expect(events.filter((event) => event.case === 'message').map(({ value }) => value)).toEqual([
      expect.objectContaining({
        key: 'k1',
        agentId: 'a',
        content: expect.objectContaining({ type: 'action_card', title: 'Which?' }),
      }),
    ]);
    expect(events.filter((event) => event.case === 'tool')).toEqual([]);
    expect(done.text).toBe('Choose.');
  });

  it('needs no further text', async () => {
    const { done } = await run([request(card(QUESTION)), [end('answered', '')]], { turn });
    expect(done).toMatchObject({ outcome: Outcome.SILENT, text: '' });
  });

  it.each([[undefined], [{ title: '' }]])(
    'emits no message and reports invalid arguments to the model: %j',
    async (input) => {
      const { events, asked } = await run([request(card(input)), answer('Sorry.')], { turn });
      expect(events.filter((event) => event.case === 'message')).toEqual([]);
      expect(lastMessage(asked[1])).toMatchObject({
        role: 'tool',
        content: [{ toolCallId: 'k1', output: { type: 'error-text' } }],
      });
    },
  );

  it('rejects the call if the tool is disabled', async () => {
    const { events, asked } = await run([request(card(QUESTION)), answer('Well.')], { turn: { tools: [] } });
    expect(toolNames(asked[0])).toEqual(['more_tools']);
    expect(events.filter((event) => event.case === 'message')).toEqual([]);
  });

  it('offers the tool if the tool server is down', async () => {
    const tools: ToolSource = { ...noTools, list: () => Promise.reject(new Error('It is down.')) };
    const allowed = { tools: ['web_search_tool', 'action_card_tool'] };
    const { asked } = await run([answer('ok')], { tools, turn: allowed });
    expect(toolNames(asked[0])).toEqual(['more_tools']);
    expect(words(asked[0])).toContain('It is down.');
  });
});
