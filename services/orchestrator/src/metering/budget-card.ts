import { callHash, type OfferedCard } from '../records/approval-card.js';

export const CONTINUE_ACTION = 'continue';
/** Stands where a call card has its tool name. */
const TURN_BUDGET = 'turn_budget';

const count = (tokens: number): string => tokens.toLocaleString('en-US');

/** Asks the user to grant more tokens. Pure. */
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
