import { callHash, type OfferedCard } from '../records/approval-card.js';

export const CONTINUE_ACTION = 'continue';
/** The subject of the card, in place of a tool. */
const TURN_BUDGET = 'turn_budget';

const count = (tokens: number): string => tokens.toLocaleString('en-US');

/** The card of a turn that has used its budget, with its subject as for a call. Pure. */
export function budgetCard(used: number, granted: number): { tool: string; argumentsHash: Buffer; card: OfferedCard } {
  return {
    tool: TURN_BUDGET,
    argumentsHash: callHash(TURN_BUDGET, { used, granted }),
    card: {
      type: 'action_card',
      title: `This answer has used ${count(used)} tokens. Continue?`,
      description: `“Continue” allows ${count(granted)} more tokens. “Stop” ends the answer with what it has.`,
      actions: [
        { id: CONTINUE_ACTION, label: 'Continue', style: 'primary' },
        { id: 'stop', label: 'Stop', style: 'secondary' },
      ],
      selected_action_id: null,
    },
  };
}
