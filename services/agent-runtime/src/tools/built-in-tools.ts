import { ACTION_CARD_TOOL } from '@uswarm/contract/agent-tools';
import { type Agent, AgentRole, type RunTurnRequest, type SkillDocument } from '@uswarm/runtime-proto';
import { z } from 'zod';
import { type BuiltInTool, defineTool, type ListedTool } from './define-tool.js';

/** Tool names that are not in the user's catalogue: agents always have them. */
export const SKILL_TOOL = 'use_skill';
export const SILENT_TOOL = 'stay_silent';

const createActionCard = (): BuiltInTool => {
  const action = z.object({
    label: z.string().trim().min(1).max(80).describe('Text of the button.'),
    style: z.enum(['primary', 'secondary', 'destructive']).default('secondary'),
  });
  return defineTool({
    name: ACTION_CARD_TOOL,
    description: 'Shows the user a card with options, of which the user chooses one.',
    input: z.object({
      title: z.string().trim().min(1).max(200).describe('The question, in a few words.'),
      description: z.string().max(2_000).default('').describe('Explanation of the options.'),
      actions: z.array(action).min(1).max(10),
    }),
    run: ({ title, description, actions }) => ({
      text:
        'The card is shown to the user, who chooses one option or writes something else. ' +
        'The choice arrives as the next message: end your reply now.',
      failed: false,
      message: {
        type: 'action_card',
        title,
        description,
        actions: actions.map((each, index) => ({ id: `action_${index + 1}`, ...each })),
      },
    }),
  });
};

const createStaySilent = (): BuiltInTool =>
  defineTool({
    name: SILENT_TOOL,
    description: 'Ends your turn without a reply.',
    input: z.object({}),
    run: () => ({ text: 'The turn ends without a reply.', failed: false, silent: true }),
  });

/** Created in the first turn: an idle runtime needs no tool schemas. */
let actionCard: BuiltInTool | undefined;
let staySilent: BuiltInTool | undefined;

function useSkill(documents: readonly SkillDocument[]): BuiltInTool {
  const names = documents.map(({ name }) => name).join(', ');
  return defineTool({
    name: SKILL_TOOL,
    description: 'Loads the instructions of one of your skills. Use it before you do a task that the skill describes.',
    input: z.object({ name: z.string().describe('The name of the skill, as listed.') }),
    run({ name }) {
      const document = documents.find((one) => one.name === name.trim());
      if (document === undefined)
        return { text: `${SKILL_TOOL}: unknown skill. The skills are: ${names}`, failed: true };
      return { text: document.content, failed: false };
    },
  });
}

export interface BuiltInTools {
  direct: BuiltInTool[];
  listed: (BuiltInTool & ListedTool)[];
}

/** A turn's tools that run inside the runtime. `tools` has the catalogue names that the agent may use. */
export function builtInTools(
  { skillDocuments: documents, role }: Pick<Agent, 'skillDocuments' | 'role'>,
  { tools, isTask }: Pick<RunTurnRequest, 'tools' | 'isTask'>,
): BuiltInTools {
  const hasCards = tools.includes(ACTION_CARD_TOOL);
  // Only the manager sees messages that other agents answer. A task without a result would be lost work.
  const canBeSilent = role === AgentRole.MANAGER && !isTask;
  return {
    direct: documents.length === 0 ? [] : [useSkill(documents)],
    listed: [
      ...(hasCards ? [{ ...(actionCard ??= createActionCard()), hint: 'let the user choose from options' }] : []),
      ...(canBeSilent
        ? [{ ...(staySilent ??= createStaySilent()), hint: 'end without a reply if another agent answers' }]
        : []),
    ],
  };
}
