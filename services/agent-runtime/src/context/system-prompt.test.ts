import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AgentRole, AgentSchema } from '@uswarm/runtime-proto';
import { describe, expect, it } from '@jest/globals';
import { UNTRUSTED_RULE } from '../text/untrusted-block.js';
import { systemPrompt } from './system-prompt.js';

const mara = {
  id: 'a1',
  slug: 'manager',
  name: 'Mara',
  role: AgentRole.MANAGER,
  description: 'Leads the team.',
  skills: ['planning'],
  responseLength: 'short',
  prompts: ['Always answer in rhyme.', 'Avoid the letter z.'],
  skillDocuments: [{ name: 'invoices', description: 'How to write\nan invoice.', content: 'A secret form.' }],
} satisfies Exclude<MessageInitShape<typeof AgentSchema>, { $typeName: string }>;

const cody = create(AgentSchema, {
  id: 'a2',
  slug: 'coder',
  name: 'Cody',
  role: AgentRole.SUB_AGENT,
  description: 'Writes code.',
  skills: ['TypeScript', 'Go'],
});

const promptOf = (tools: string[] = ['use_skill']): string =>
  systemPrompt({ agent: create(AgentSchema, mara), colleagues: [cody], tools, isTask: false });

describe('the system prompt', () => {
  it.each([
    'You are Mara (@manager), the manager of',
    'Leads the team.',
    'Your skills: planning work.',
    '- invoices: How to write an invoice.',
    '- Cody (@coder): Writes code. Skills: TypeScript, Go.',
    'Answer in one to three sentences.',
    'Always answer in rhyme.\n\nAvoid the letter z.',
  ])('contains the data of the agents: %s', (line) => {
    expect(promptOf()).toContain(line);
  });

  it('contains the rule for untrusted blocks, also without tools', () => {
    expect(promptOf([])).toContain(UNTRUSTED_RULE);
  });

  it('lists skill documents only if the model can load them', () => {
    expect(promptOf(['web_search_tool'])).not.toContain('invoices');
  });

  it('does not contain skill documents themselves', () => {
    expect(promptOf()).not.toContain('A secret form.');
  });
});
