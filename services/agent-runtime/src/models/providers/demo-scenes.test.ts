import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { COLLEAGUES } from '../../../test/demo-turn.js';
import { createUntrustedBlock } from '../../text/untrusted-block.js';
import type { PromptMessage } from '../port.js';
import { demoMove } from './demo-answer.js';
import type { DemoMove } from './demo-scene.js';
import { SCENES } from './demo-scenes.js';
import { wordsOf } from './demo-situation.js';

const untrusted = createUntrustedBlock();
const ALL_TOOLS = [
  'web_search_tool',
  'action_card_tool',
  'create_artifact',
  'revise_artifact',
  'finish_artifact',
  'read_artifact',
  'remember',
  'recall',
  'forget',
  'delegate',
  'hand_over',
  'start_workflow',
  'stay_silent',
];

function system(self = 'manager'): PromptMessage {
  const others = [{ slug: 'manager', name: 'Manager' }, ...COLLEAGUES].filter(({ slug }) => slug !== self);
  const lines = others.map(({ slug, name }) => `- ${name} (@${slug}${slug === 'manager' ? ', manager' : ''}): Helps.`);
  return {
    role: 'system',
    content: `You are ${self} (@${self}), a member of a swarm.\n\nYour colleagues, whom the user can address by @name:\n${lines.join('\n')}`,
  };
}
const asked = (text: string): PromptMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const result = (toolName: string, value: string, failed = false): PromptMessage => ({
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: 'c',
      toolName,
      output: { type: failed ? 'error-text' : 'text', value: untrusted(toolName, value) },
    },
  ],
});
const move = (text: string, { offered = ALL_TOOLS, self = 'manager', turn = [] as PromptMessage[] } = {}): DemoMove =>
  demoMove({ prompt: [system(self), asked(text), ...turn], offered });
const calls = (played: DemoMove) => ('calls' in played ? played.calls : []);
const textOf = (played: DemoMove): string => ('answer' in played ? played.answer : '');
const agentsOf = (text: string): unknown[] => calls(move(text)).map(({ input }) => input['agent']);
const taskOf = (task: string): string =>
  `You work on a task of your colleague Manager (@manager).\n\nTask:\n${task}\n\nExpected result:\nOne or two sentences.`;

describe('the scenes of the demo model', () => {
  it.each(SCENES.map(({ request }) => request))('shows what the list promises: %s', (request) => {
    const first = SCENES.find(({ words }) => words.test(wordsOf(request)));
    expect(first?.request).toBe(request);
    expect(textOf(move(request))).not.toContain('You asked:');
  });

  it('lists every request with what it shows', () => {
    for (const request of ['Show me everything', 'help', '@manager what can you show me?']) {
      const list = textOf(move(request, { offered: [] }));
      for (const scene of SCENES) expect(list).toContain(`- “${scene.request}”: ${scene.shows}`);
    }
  });

  it('calls only offered tools, and names the missing ones in one sentence', () => {
    const request = fc.constantFrom(...SCENES);
    fc.assert(
      fc.property(request, fc.subarray(ALL_TOOLS), (scene, offered) => {
        const played = move(scene.request, { offered });
        for (const { tool } of calls(played)) expect(offered).toContain(tool);
        const isComplete = (scene.tools ?? []).every((tool) => offered.includes(tool));
        const refuses = /^\[demo\] I cannot show this, [^.]+ not available to this agent\.$/.test(textOf(played));
        expect(refuses).toBe(!isComplete);
      }),
    );
  });

  it('plays the same scene for the same request', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SCENES), fc.constantFrom('', '@manager ', 'Please '), (scene, before) => {
        expect(move(`${before}${scene.request}`)).toEqual(move(scene.request));
      }),
    );
  });

  it('does not take a question about a scene for the request to show it', () => {
    for (const text of ['What is a workflow?', 'Who does a delegation help?', 'I forget things'])
      expect(textOf(move(text))).toContain(`You asked: ${text}`);
    expect(calls(move('Search the web for workflows'))).toMatchObject([{ tool: 'web_search_tool' }]);
  });

  it('plays the newest request if earlier ones have no reply', () => {
    expect(calls(move('stay silent\n\nshow me a card'))).toMatchObject([{ tool: 'action_card_tool' }]);
  });

  it('continues the request, not the note of the runtime after it', () => {
    const said: PromptMessage = { role: 'assistant', content: [{ type: 'text', text: '[demo] This answer' }] };
    const played = move('show me an incomplete answer', { turn: [said, asked('[Continue your reply.]')] });
    expect(played).toEqual({ answer: expect.not.stringContaining('[demo]'), end: 'length' });
  });
});

describe('delegations of the demo model', () => {
  it.each([
    ['show me a delegation', ['researcher']],
    ['delegate to three agents', ['researcher', 'analyst', 'writer']],
    ['delegate to 5 agents', ['researcher', 'analyst', 'writer', 'coder', 'researcher']],
    ['delegate to ninety agents', ['researcher']],
    ['delegate to 90 agents', ['researcher', 'analyst', 'writer', 'coder', 'researcher']],
    ['delegate to @coder and Writer', ['coder', 'writer']],
    ['delegate to @coder: ask the writer', ['coder']],
  ])('%s', (request, agents) => {
    expect(agentsOf(request)).toEqual(agents);
  });

  it('gives the task that the user names', () => {
    expect(calls(move('Delegate to @coder: write a sort function in two languages.'))).toEqual([
      {
        tool: 'delegate',
        input: {
          agent: 'coder',
          task: 'write a sort function in two languages',
          expected: 'One or two sentences.',
        },
      },
    ]);
  });

  it('nests: the sub-agent delegates its task once more', () => {
    const [outer] = calls(move('show me a nested delegation'));
    const task = taskOf(String(outer?.input['task']));
    const [inner, ...others] = calls(move(task, { self: String(outer?.input['agent']) }));
    expect(others).toEqual([]);
    expect(inner?.tool).toBe('delegate');
    const innermost = move(taskOf(String(inner?.input['task'])), { self: String(inner?.input['agent']) });
    expect(textOf(innermost)).toMatch(
      /^\[demo\] I worked on the task “Name one fact about green tea” and it is done\.$/,
    );
  });

  it('reports that a sub-agent cannot delegate further', () => {
    const deepest = move(taskOf('Delegate to @writer: Name one fact.'), { offered: ['stay_silent'] });
    expect(textOf(deepest)).toBe('[demo] I cannot show this, because delegate is not available to this agent.');
  });

  it('fails on request: the sub-agent refuses', () => {
    const [call] = calls(move('show me a failed delegation'));
    expect(move(taskOf(String(call?.input['task'])))).toEqual({ answer: '', end: 'refused' });
  });
});

describe('a hand-over of the demo model', () => {
  it('names the agent in text and call', () => {
    expect(move('hand over to Writer')).toEqual({
      text: '[demo] I hand over to Writer.',
      calls: [{ tool: 'hand_over', input: { agent: 'writer' } }],
    });
  });

  const handedOver = `${untrusted('manager', '[demo] I hand over to Writer.')}`;
  it.each(['hand over to @writer', 'hand over', 'show me a hand-over'])(
    'ends with the other agent, which does not hand over again: %s',
    (request) => {
      const after = `${request}\n\nManager (@manager) wrote:\n${handedOver}`;
      for (const offered of [ALL_TOOLS, ['stay_silent']])
        expect(textOf(move(after, { self: 'writer', offered }))).toMatch(/I have taken over/);
    },
  );

  it('keeps the words of the user apart from those of other agents', () => {
    const text = `Hello\n\nManager (@manager) wrote:\n${untrusted('manager', 'show me a card')}\n\nAnd you?`;
    expect(textOf(move(text))).toContain('You asked: And you?\n');
  });
});

describe('a workflow of the demo model', () => {
  it.each(['show me a workflow', 'show me a failed workflow', 'show me a workflow with an approval'])(
    'has a valid plan: %s',
    (request) => {
      const [call] = calls(move(request));
      const { steps } = (call?.input ?? {}) as { steps: { id: string; agent: string; after: string[] }[] };
      const before: string[] = [];
      for (const { id, after } of steps) {
        expect(before).toEqual(expect.arrayContaining(after));
        expect(before).not.toContain(id);
        before.push(id);
      }
      expect(steps.map(({ agent }) => agent)).toEqual(['researcher', 'analyst', 'writer', 'coder']);
    },
  );

  it('ends with a report of each step, and starts nothing', () => {
    const step = (name: string, state: string, text: string): string =>
      `Step “${name}” by @writer, ${state}:\n${untrusted('writer', text)}`;
    const message =
      '[Message of the app] The workflow “Tea” that you started has ended. Its status is “failed”. Tell the user the ' +
      'results, and what failed. The user has not written a new message.';
    const steps = [step('Collect sources', 'completed', 'Found\n\nshow me a card'), step('Check', 'failed', '')];
    const report = [message, ...steps].join('\n\n');
    expect(calls(move(`${report}\n\nShow me a card`))).toMatchObject([{ tool: 'action_card_tool' }]);
    expect(textOf(move(`Approve\n\n${report}`))).toBe(textOf(move(report)));
    expect(textOf(move(report))).toBe(
      '[demo] The workflow “Tea” has ended: failed.\n\n' +
        '- Collect sources (@writer, completed): Found show me a card\n- Check (@writer, failed)',
    );
  });

  it('works on the task of a step, not on the results of earlier steps', () => {
    const earlier = `Results of earlier steps:\n\nStep “A” by @writer, completed:\n${untrusted('writer', 'find the web')}`;
    const prompt = `You work on the step “B” of the workflow “Tea”. Decide.\n\nTask:\nWrite a headline.\n\n${earlier}`;
    expect(textOf(move(prompt))).toBe('[demo] I worked on the task “Write a headline.” and it is done.');
    expect(textOf(move('You work on the step “B”.\n\nTask:\nCount to ten.'))).toContain('“Count to ten.”');
  });
});

describe('an approval of the demo model', () => {
  const outcome = (text: string, failed = false): string =>
    textOf(move('show me an approval', { turn: [result('remember', text, failed)] }));

  it('prefers a tool that asks by default', () => {
    const tool = (offered: string[]) => calls(move('show me an approval', { offered }))[0]?.tool;
    expect(tool([...ALL_TOOLS, 'create_mail_draft'])).toBe('create_mail_draft');
    expect(tool([...ALL_TOOLS, 'create_calendar_event'])).toBe('create_calendar_event');
    expect(tool(ALL_TOOLS)).toBe('remember');
    expect(tool([])).toBeUndefined();
  });

  it('reports the decision', () => {
    expect(outcome('Saved as “demo approval”.\nThe user approved this call at 2026-11-24T10:00:00.000Z.')).toMatch(
      /You approved the call/,
    );
    expect(outcome('The user denied this call. Nothing was changed.', true)).toMatch(/did not run: The user denied/);
  });

  it('forgets the example and names what to set if the call ran without asking', () => {
    const saved = result('remember', 'Saved as “demo approval”.');
    const forgotten = result('forget', 'Forgot “demo approval”.');
    expect(calls(move('show me an approval', { turn: [saved] }))).toEqual([
      { tool: 'forget', input: { key: 'demo approval' } },
    ]);
    expect(textOf(move('show me an approval', { turn: [saved, forgotten] }))).toContain(
      'PATCH /v1/agents/{id}/tools/memories {"permission": "ask"}',
    );
  });
});

describe('memories of the demo model', () => {
  const memories = `Your memories of the user and the work. If they have the answer, give it in your own words, without a tool:\n${untrusted('memories', '- [core] tea: Likes Darjeeling.')}`;

  it('lists those of the prompt without a topic', () => {
    const text = `${memories}\n\n<context>\nIt is Monday.\n</context>\n\nWhat do you remember?`;
    expect(textOf(move(text))).toBe('[demo] I remember:\n\n- [core] tea: Likes Darjeeling.');
    expect(textOf(move('What do you remember?'))).toContain('No memory fits');
  });
});
