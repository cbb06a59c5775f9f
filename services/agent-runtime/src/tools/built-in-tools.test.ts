import { describe, expect, it } from '@jest/globals';
import { ACTION_CARD_TOOL, AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { BUILT_IN_TOOLS } from './built-in-tools.js';

describe('built-in tools', () => {
  it.each(BUILT_IN_TOOLS)('$definition.name is in the tool catalogue', ({ definition }) => {
    expect(AGENT_TOOLS.map(({ name }) => name)).toContain(definition.name);
  });
});

describe('action_card_tool', () => {
  const tool = BUILT_IN_TOOLS.find(({ definition }) => definition.name === ACTION_CARD_TOOL)!;
  const card = (input: Record<string, unknown>) => tool.run(input);
  const actions = (count: number) => Array.from({ length: count }, (_, n) => ({ label: `Option ${n}` }));

  it('describes its arguments as JSON schema', () => {
    expect(tool.definition.inputSchema).toMatchObject({
      type: 'object',
      required: ['title', 'actions'],
      properties: {
        title: { type: 'string', maxLength: 200 },
        actions: { minItems: 1, maxItems: 10, items: { required: ['label'] } },
      },
    });
    expect(tool.definition.inputSchema).not.toHaveProperty('$schema');
  });

  it('returns a card whose actions each have an id, a label and a style', () => {
    const result = card({ title: ' Which? ', actions: [{ label: 'A', style: 'destructive' }, { label: 'B' }] });
    expect(result).toMatchObject({
      failed: false,
      message: {
        type: 'action_card',
        title: 'Which?',
        description: '',
        actions: [
          { id: 'action_1', label: 'A', style: 'destructive' },
          { id: 'action_2', label: 'B', style: 'secondary' },
        ],
      },
    });
  });

  it('tells the model that the choice arrives as the next message', () => {
    expect(card({ title: 't', actions: actions(1) }).text).toMatch(/next message/);
  });

  it.each([
    ['title', { actions: actions(1) }],
    ['title', { title: ' ', actions: actions(1) }],
    ['actions', { title: 't' }],
    ['actions', { title: 't', actions: [] }],
    ['actions', { title: 't', actions: actions(11) }],
    ['actions.0.label', { title: 't', actions: [{ label: '' }] }],
    ['actions.0.style', { title: 't', actions: [{ label: 'A', style: 'pink' }] }],
  ])('returns a failed result and no card if %s is invalid', (path, input) => {
    expect(card(input)).toEqual({ failed: true, text: expect.stringContaining(`${ACTION_CARD_TOOL}: ${path}: `) });
  });
});
