import type { MessageData } from '../resources/message.js';
import { chosenCard, MORNING } from './examples.js';

/** A call that waits for the user. */
export const approvalCard: MessageData = {
  ...chosenCard,
  content: {
    type: 'action_card',
    title: 'Approve? Adding “Dinner” to the calendar',
    description: 'Starts: “2026-11-20 20:00”',
    actions: [
      { id: 'approve', label: 'Approve', style: 'primary' },
      { id: 'deny', label: 'Deny', style: 'secondary' },
    ],
    selected_action_id: null,
    approval: { tool: 'google_calendar', permission: 'ask' },
    expires_at: '2026-11-21T08:30:00.000Z',
  },
  updated_at: MORNING,
  rev: 67,
};
