import { ApiError, type MessageContent } from '@uswarm/contract';

export type ActionCard = Extract<MessageContent, { type: 'action_card' }>;

/** A choice that is open or already made. */
export interface Choice {
  card: ActionCard;
  label: string;
  made: boolean;
}

/**
 * Returns the effect of choosing an action of a message in its current state. Pure.
 *
 * @throws ApiError `action_not_found`, also if the message is not a card; `action_already_chosen` if another action was chosen
 */
export function choiceOf({ content, status }: { content: MessageContent; status: string }, actionId: string): Choice {
  // A failed card belongs to an abandoned reply.
  const card = content.type === 'action_card' && status !== 'failed' ? content : undefined;
  const action = card?.actions.find(({ id }) => id === actionId);
  if (card === undefined || action === undefined) throw new ApiError('action_not_found');
  const selected = card.selected_action_id ?? null;
  if (selected !== null && selected !== actionId) throw new ApiError('action_already_chosen');
  return { card, label: action.label, made: selected !== null };
}
