import { describe, expect, it } from '@jest/globals';
import { Outcome, ToolState } from '@uswarm/runtime-proto';
import {
  answer,
  brief,
  end,
  lastMessage,
  request,
  run,
  search,
  searchTool,
  text,
  toolNames,
  usage,
  words,
} from '../../test/scripted-turn.js';
import { noTools, type ToolSource } from '../tools/tool.js';
import { MAX_STEPS } from './converse.js';

describe('the agent loop', () => {
  it('emits reading, thinking, writing and usage before it ends', async () => {
    const { events, done } = await run([[text('Hello '), text('you'), usage(3, 2), end('answered', 'Hello you')]]);
    expect(brief(events)).toEqual([
      'activity READING',
      'activity THINKING',
      'activity WRITING',
      'chunk 0 Hello ',
      'chunk 6 you',
      'usage 1 3 2',
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Hello you', errorCode: '' });
  });

  it('runs the tools that the model requests and passes the results back', async () => {
    const inputs: unknown[] = [];
    const tools = searchTool((input) => {
      inputs.push(input);
      return { text: '{"results":[]}', failed: false };
    });
    const { asked, events, done } = await run(
      [
        [text('Let me see.'), usage(1, 1), end('calls', 'Let me see.', [search])],
        [text('Nothing.'), usage(2, 2), end('answered', 'Nothing.')],
      ],
      { tools, turn: { firstStep: 4 } },
    );
    expect(inputs).toEqual([{ query: 'llamas' }]);
    expect(asked[1]?.prompt.slice(2)).toMatchObject([
      { role: 'assistant', content: [{ text: 'Let me see.' }, { type: 'tool-call', toolCallId: 'c1' }] },
      {
        role: 'tool',
        content: [
          {
            toolCallId: 'c1',
            toolName: 'web_search_tool',
            output: {
              type: 'text',
              value: expect.stringMatching(
                /^<untrusted id="\w+" source="web_search_tool">\n\{"results":\[\]\}\n<\/untrusted/,
              ),
            },
          },
        ],
      },
    ]);
    expect(brief(events).slice(2)).toEqual([
      'activity WRITING',
      'chunk 0 Let me see.',
      'usage 4 1 1',
      'tool RUNNING llamas',
      'tool COMPLETED llamas',
      'activity THINKING',
      'activity WRITING',
      'chunk 11 \n\nNothing.',
      'usage 5 2 2',
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Let me see.\n\nNothing.' });
  });

  it('offers only existing tools that the agent may use', async () => {
    const tools = searchTool(() => ({ text: '', failed: false }));
    expect(toolNames((await run([answer('ok')], { tools })).asked[0])).toEqual(['web_search_tool', 'more_tools']);
    expect(toolNames((await run([answer('ok')], { tools, turn: { tools: [] } })).asked[0])).toEqual(['more_tools']);
  });

  it.each([
    ['a tool that fails', search, 'web_search_tool: searxng endpoint is not configured'],
    ['malformed arguments', { ...search, input: undefined }, 'web_search_tool: the arguments are not a JSON object.'],
    ['a tool that was not offered', { ...search, name: 'secret_tool' }, 'secret_tool: unknown tool.'],
  ])('continues after %s and reports it to the model', async (_name, call, error) => {
    const tools = searchTool(() => ({ text: 'web_search_tool: searxng endpoint is not configured', failed: true }));
    const { asked, events, done } = await run([request(call), answer('Sorry.')], { tools });
    expect(lastMessage(asked[1])).toMatchObject({
      role: 'tool',
      content: [{ toolCallId: 'c1', output: { type: 'error-text', value: expect.stringContaining(error) } }],
    });
    const states = events.flatMap((event) => (event.case === 'tool' ? [event.value] : []));
    // Users see no calls to tools that do not exist.
    expect(states).toMatchObject(
      call.name === 'secret_tool'
        ? []
        : [{ state: ToolState.RUNNING }, { state: ToolState.FAILED, description: error }],
    );
    expect(done.outcome).toBe(Outcome.COMPLETED);
  });

  it('has the model answer after three steps with only invalid calls', async () => {
    const unknown = { ...search, name: 'other' };
    const { asked, done } = await run([request(unknown), request(unknown), request(unknown), answer('Sorry.')], {
      tools: searchTool(() => ({ text: '', failed: false })),
    });
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'auto', 'none']);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Sorry.' });
  });

  it('continues without tools if the tool server is down, and reports it to the model', async () => {
    const tools: ToolSource = {
      ...noTools,
      list: () => Promise.reject(new Error('The tool server could not be reached.')),
    };
    const { asked, done } = await run([answer('Without.')], { tools });
    expect(toolNames(asked[0])).toEqual(['more_tools']);
    expect(words(asked[0])).toContain('The tool server could not be reached.');
    expect(done.outcome).toBe(Outcome.COMPLETED);
  });

  it('has the model answer in the last step', async () => {
    const tools = searchTool(() => ({ text: 'more', failed: false }));
    const steps = [...Array.from({ length: MAX_STEPS - 1 }, () => request(search)), answer('At last.')];
    const { asked, done } = await run(steps, { tools });
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual([...Array(MAX_STEPS - 1).fill('auto'), 'none']);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'At last.' });
  });

  it('fails if the model requests tools even in the last step', async () => {
    const tools = searchTool(() => ({ text: 'more', failed: false }));
    const { asked, done } = await run([request(search)], { tools });
    expect(asked).toHaveLength(MAX_STEPS);
    expect(done).toMatchObject({ outcome: Outcome.FAILED, errorCode: 'step_limit_reached' });
  });

  it('limits the calls of one step', async () => {
    const tools = searchTool(() => ({ text: 'fine', failed: false }));
    const many = Array.from({ length: 9 }, (_, index) => ({ ...search, id: `c${index}` }));
    const { asked } = await run([request(...many), answer('ok')], { tools });
    const results = lastMessage(asked[1]);
    const outputs = results?.role === 'tool' ? results.content : [];
    expect(outputs.map((part) => part.type === 'tool-result' && part.output.type)).toEqual([
      ...Array(8).fill('text'),
      'error-text',
    ]);
  });
});
