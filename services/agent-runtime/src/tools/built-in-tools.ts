import { ACTION_CARD_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { type BuiltInTool, defineTool } from './define-tool.js';

const Action = z.object({
  label: z.string().trim().min(1).max(80).describe('Text of the button.'),
  style: z.enum(['primary', 'secondary', 'destructive']).default('secondary'),
});

export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [
  defineTool({
    name: ACTION_CARD_TOOL,
    description: 'Shows the user a card with up to 10 options to choose one from. Use it when the user must decide.',
    input: z.object({
      title: z.string().trim().min(1).max(200).describe('The question, in a few words.'),
      description: z.string().max(2_000).default('').describe('Explanation of the options.'),
      actions: z.array(Action).min(1).max(10),
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
        actions: actions.map((action, index) => ({ id: `action_${index + 1}`, ...action })),
      },
    }),
  }),
];
