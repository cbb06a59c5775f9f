import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AgentRole, HistoryRole, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { describe, expect, it } from '@jest/globals';
import { createUntrustedBlock, UNTRUSTED_RULE } from '../tools/untrusted-block.js';
import { toModelMessages } from './conversation.js';
import { systemPrompt } from './system-prompt.js';

const agent = {
  id: 'a1',
  slug: 'manager',
  name: 'Mara',
  role: AgentRole.MANAGER,
  description: 'Leads the team.',
  skills: ['planning'],
  responseLength: 'short',
  prompts: ['Always answer in rhyme.', 'Avoid the letter z.'],
} satisfies MessageInitShape<typeof RunTurnRequestSchema>['agent'];

const request = create(RunTurnRequestSchema, {
  agent,
  colleagues: [
    {
      id: 'a2',
      slug: 'coder',
      name: 'Cody',
      role: AgentRole.SUB_AGENT,
      description: 'Writes code.',
      skills: ['TypeScript', 'Go'],
    },
  ],
  memories: [{ key: 'city', content: 'Lives in Oslo', category: 'core' }],
});

function promptOf(toolProblem?: string): string {
  if (request.agent === undefined) throw new Error('no agent');
  return systemPrompt(request, request.agent, toolProblem);
}

describe('the system prompt', () => {
  it.each([
    'You are Mara (@manager), the manager of',
    'Leads the team.',
    '- planning',
    '- Cody (@coder): Writes code. Skills: TypeScript, Go.',
    '- [core] city: Lives in Oslo',
    'Answer in one to three sentences.',
    'Always answer in rhyme.\n\nAvoid the letter z.',
  ])('contains the data of the request: %s', (line) => {
    expect(promptOf()).toContain(line);
  });

  it('contains the rule for untrusted blocks, also without tools', () => {
    expect(promptOf()).toContain(UNTRUSTED_RULE);
  });

  it('explains why tools are missing', () => {
    expect(promptOf('The tool server could not be reached.')).toContain('The tool server could not be reached.');
  });

  it('ends with the date, the name and the language of the user', () => {
    const context = {
      nowMs: BigInt(Date.UTC(2026, 10, 22, 23, 30)),
      timeZone: 'Pacific/Auckland',
      language: 'de',
      userName: 'Ada',
    };
    expect(systemPrompt(create(RunTurnRequestSchema, { agent, context }), request.agent!)).toMatch(
      /Now:\nIt is Monday,? 23 November 2026, 12:30 GMT\+13:00, in the time zone Pacific\/Auckland\.\n.*"Ada".*\n.*German \(de\).*$/,
    );
  });
});

describe('the conversation for a model', () => {
  it('attributes messages to the agent itself and to its colleagues by name', () => {
    const history = create(RunTurnRequestSchema, {
      colleagues: request.colleagues,
      agent,
      history: [
        { role: HistoryRole.USER, text: 'Hello' },
        { role: HistoryRole.AGENT, agentId: 'a1', text: 'Hi' },
        { role: HistoryRole.AGENT, agentId: 'a2', text: 'I am done' },
        { role: HistoryRole.AGENT, agentId: 'gone', text: 'Bye' },
      ],
    });
    if (history.agent === undefined) throw new Error('no agent');
    const untrusted = createUntrustedBlock();
    expect(toModelMessages(history, history.agent, untrusted)).toEqual([
      { role: 'user', text: 'Hello' },
      { role: 'assistant', text: 'Hi', toolCalls: [] },
      { role: 'user', text: `Cody (@coder) wrote:\n${untrusted('coder', 'I am done')}` },
      { role: 'user', text: `Another agent wrote:\n${untrusted('agent', 'Bye')}` },
    ]);
  });
});
