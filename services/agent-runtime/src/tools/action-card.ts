import { z } from 'zod';
import type { BuiltInTool } from './tool.js';

export const ACTION_CARD_TOOL = 'action_card_tool';

const MAX_ACTIONS = 10;

const Input = z.object({
  title: z.string().trim().min(1).max(200),
  description: z.string().max(2_000).default(''),
  actions: z
    .array(
      z.object({
        label: z.string().trim().min(1).max(80),
        style: z.enum(['primary', 'secondary', 'destructive']).default('secondary'),
      }),
    )
    .min(1)
    .max(MAX_ACTIONS),
});

const SHOWN =
  'The card is shown to the user, who chooses one option or writes something else. ' +
  'What they choose comes as their next message: end your reply now.';

/** Lets a model ask the user to choose: what it asks becomes a message of its own. spec: orchestrator §2.11 */
export const actionCardTool: BuiltInTool = {
  definition: {
    name: ACTION_CARD_TOOL,
    description: 'Shows the user a card with up to 10 options to choose one from. Use it where a decision is theirs.',
    inputSchema: {
      type: 'object',
      properties: {
        title: { type: 'string', description: 'The question, in a few words.' },
        description: { type: 'string', description: 'What the options mean.' },
        actions: {
          type: 'array',
          minItems: 1,
          maxItems: MAX_ACTIONS,
          items: {
            type: 'object',
            properties: {
              label: { type: 'string', description: 'What the button says.' },
              style: { type: 'string', enum: ['primary', 'secondary', 'destructive'] },
            },
            required: ['label'],
          },
        },
      },
      required: ['title', 'actions'],
    },
  },
  run(input) {
    const { data, error } = Input.safeParse(input);
    if (error !== undefined) {
      const { path = [], message = '' } = error.issues[0] ?? {};
      return { text: `${ACTION_CARD_TOOL}: ${path.join('.')}: ${message}`, failed: true };
    }
    const actions = data.actions.map((action, index) => ({ id: `action_${index + 1}`, ...action }));
    const { title, description } = data;
    return { text: SHOWN, failed: false, message: { type: 'action_card', title, description, actions } };
  },
};
