import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { withOutcome } from '../tools/outcomes.js';
import { definePlatformTool, type Subject } from '../tools/platform-tool.js';
import { offeredTools, subjectsOf } from './offered-tools.js';

const tool = (name: string, listed: { hint?: string; offeredFor?: Subject } = {}) =>
  definePlatformTool({
    name,
    ...listed,
    description: 'd',
    switchedBy: 's',
    effect: 'read',
    input: z.object({}),
    describe: () => '',
    prepare: () => withOutcome({ text: '', failed: false }),
  });

const TOOLS = [
  tool('delegate'),
  tool('start_workflow', { hint: 'plan long work' }),
  tool('read_artifact', { hint: 'read a document', offeredFor: 'artifacts' }),
];
const hints = (subjects: Subject[], recent: string[] = []) =>
  Object.fromEntries(offeredTools(TOOLS, new Set(subjects), new Set(recent)).map(({ name, hint }) => [name, hint]));

describe('the tools of a turn', () => {
  it('are offered directly if most turns need them, and listed otherwise', () => {
    expect(hints([])).toEqual({ delegate: '', start_workflow: 'plan long work', read_artifact: 'read a document' });
  });

  it('are offered directly if the conversation has what they work on', () => {
    expect(hints(['artifacts'])).toEqual({ delegate: '', start_workflow: 'plan long work', read_artifact: '' });
    expect(hints(['files', 'memories', 'past'])).toEqual(hints([]));
  });

  it('are offered directly if the last turns have used them', () => {
    expect(hints([], ['start_workflow'])).toMatchObject({ start_workflow: '' });
  });
});

describe('what a conversation has', () => {
  const agentContext = { memories: [] } as unknown as Parameters<typeof subjectsOf>[1]['agentContext'];
  const memory = { key: 'tea', content: 'green', category: 'core' };
  const file = { id: 'f', type: 'file', name: 'a.pdf', mime_type: 'application/pdf', size: 1 } as const;

  it('is nothing at its beginning', () => {
    expect(subjectsOf([{}], { agentContext, summary: null })).toEqual(new Set());
  });

  it('is read from its messages, the memories and the summary', () => {
    const context = {
      agentContext: { ...agentContext, memories: [memory] },
      summary: { text: 's', throughSeq: 1 },
    };
    expect(subjectsOf([{ artifact: true }, { attachments: [file] }], context)).toEqual(
      new Set(['artifacts', 'files', 'memories', 'past']),
    );
  });
});
