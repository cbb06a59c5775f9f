import { UswarmError, type components, type ShownMessage } from '@uswarm/client';
import { useState } from 'react';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { SUBMIT, valuesOf } from './card-form.js';
import { usePlace } from './chat.js';

type Content = components['schemas']['ActionCardContent'];
export const APPROVE = 'approve';
const REFUSALS: Readonly<Record<string, string>> = {
  action_already_chosen: 'This was decided on another device.',
  approval_closed: 'This can no longer be decided: it expired, or another message was sent.',
  message_not_found: 'This was withdrawn.',
};

/** The tool that waits, and until when the user can decide. */
export function factsOf({ approval, expires_at: end }: Content, isOpen: boolean): string {
  const tool = approval && `Tool: ${approval.tool.replaceAll('_', ' ')}`;
  const until = end && isOpen && new Date(end).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return [tool, until && `Expires ${until}`].filter(Boolean).join(' · ');
}

export function useChoice({ id, message }: Pick<ShownMessage, 'id' | 'message'>, { approval, form: fields }: Content) {
  const client = useClient();
  const { workspaceId, conversationId } = usePlace();
  const [state, setState] = useState<{ isBusy: boolean; chosenHere?: string; refusal?: string }>({ isBusy: false });
  type Values = Record<string, string[]>;
  async function decide(actionId: string, values?: Values, before?: () => Promise<unknown>): Promise<void> {
    setState({ isBusy: true });
    try {
      await before?.();
      await client
        .workspace(workspaceId)
        .conversation(conversationId)
        .choose(id ?? '', actionId, values && { values });
      setState({ isBusy: false, chosenHere: actionId });
    } catch (error) {
      const code = error instanceof UswarmError ? error.code : '';
      const isFinal = code in REFUSALS;
      // The service may have stored the choice before the network failed; the message shows it.
      if (isFinal) setState({ isBusy: false, refusal: REFUSALS[code] ?? code });
      else {
        setState({ isBusy: false });
        notifyError('The choice could not be sent')(error);
      }
    }
  }
  const agentId = message?.agent?.id;
  const canAllow = approval?.permission === 'ask' && agentId !== undefined;
  const path = { id: agentId ?? '', name: approval?.tool ?? '' };
  const allow = () => client.api.patch('/v1/agents/{id}/tools/{name}', { path, body: { permission: 'allow' } });
  return {
    ...state,
    /** Of the button for an action: a form's button sends its fields. */
    pressed: (actionId: string) =>
      fields !== undefined && actionId === SUBMIT
        ? ({ type: 'submit' } as const)
        : { onClick: (): void => void decide(actionId) },
    send: (entered: FormData): void => void decide(SUBMIT, valuesOf(fields ?? [], entered)),
    /** Also allows this agent all later calls of the tool. */
    allowAlways: canAllow ? (): void => void decide(APPROVE, undefined, allow) : undefined,
  };
}
