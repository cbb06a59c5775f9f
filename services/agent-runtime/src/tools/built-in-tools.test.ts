import { describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { AgentRole, SkillDocumentSchema } from '@uswarm/runtime-proto';
import { ACTION_CARD_TOOL, AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { builtInTools, SILENT_TOOL, SKILL_TOOL } from './built-in-tools.js';

const ALL = AGENT_TOOLS.map(({ name }) => name);
const noSkills = { skillDocuments: [], role: AgentRole.MANAGER };
const toolsFor = (agent: Parameters<typeof builtInTools>[0], tools: string[], isTask = false) => {
  const { direct, listed } = builtInTools(agent, { tools, isTask });
  return [...direct, ...listed];
};
const namesFor = (...parameters: Parameters<typeof toolsFor>) =>
  toolsFor(...parameters).map(({ definition }) => definition.name);

describe('built-in tools', () => {
  it('are those that the agent may use, and the tools without a switch', () => {
    expect(namesFor(noSkills, ALL)).toEqual([ACTION_CARD_TOOL, SILENT_TOOL]);
    expect(namesFor(noSkills, [])).toEqual([SILENT_TOOL]);
  });

  it('let only the manager stay silent, and only where a user reads the answer', () => {
    expect(namesFor({ ...noSkills, role: AgentRole.SUB_AGENT }, [])).toEqual([]);
    expect(namesFor(noSkills, [], true)).toEqual([]);
  });

  it('are listed with a hint, except the skills, which the system prompt names', () => {
    const { direct, listed } = builtInTools(noSkills, { tools: ALL, isTask: false });
    expect({ direct, hints: listed.map(({ hint }) => hint) }).toEqual({
      direct: [],
      hints: [expect.stringContaining('choose'), expect.stringContaining('without a reply')],
    });
  });

  it('have names that are not in the tool catalogue, unless the user can switch them', () => {
    expect(ALL).toContain(ACTION_CARD_TOOL);
    expect(ALL).not.toContain(SILENT_TOOL);
    expect(ALL).not.toContain(SKILL_TOOL);
  });
});

describe('use_skill', () => {
  const document = (name: string) =>
    create(SkillDocumentSchema, { name, description: `When to use ${name}.`, content: `Instructions for ${name}.` });
  const agent = { ...noSkills, skillDocuments: [document('invoices'), document('travel')] };
  const use = (name: string) =>
    toolsFor(agent, [])
      .find(({ definition }) => definition.name === SKILL_TOOL)
      ?.run({ name });

  it('returns the instructions of the skill', () => {
    expect(use('travel')).toEqual({ text: 'Instructions for travel.', failed: false });
  });

  it('lists the skills if the name is unknown', () => {
    expect(use('cooking')).toEqual({ text: expect.stringContaining('invoices, travel'), failed: true });
  });

  it('is not offered to agents without long prompts', () => {
    expect(namesFor(agent, [])).toContain(SKILL_TOOL);
    expect(namesFor(noSkills, [])).not.toContain(SKILL_TOOL);
  });
});

describe('action_card_tool', () => {
  const tool = toolsFor(noSkills, ALL).find(({ definition }) => definition.name === ACTION_CARD_TOOL)!;
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
