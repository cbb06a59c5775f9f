import { UswarmError, type components, type ShownMessage } from '@uswarm/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { notifyError } from '../ui/notify.js';
import { Badge } from '../ui/parts.js';
import { usePlace } from './chat.js';
import styles from './message.module.css';
import { visibleText } from './visible-text.js';

type Content = components['schemas']['ActionCardContent'];
const LOOKS = { primary: 'primary', destructive: 'danger', secondary: undefined } as const;
const REFUSALS: Readonly<Record<string, string>> = {
  action_already_chosen: 'This was decided on another device.',
  approval_closed: 'This can no longer be decided: it expired, or another message was sent.',
  message_not_found: 'This was withdrawn.',
};

/** A question with buttons, also the approval of a call: what would happen is in its description, in full. */
export function Card(props: { shown: Pick<ShownMessage, 'id' | 'message'>; content: Content; heading?: 'h2' | 'h3' }) {
  const { shown, content, heading: Heading = 'h3' } = props;
  const { choose, chosenHere, isBusy, refusal } = useChoice(shown.id ?? '');
  const chosen = content.actions.find(({ id }) => id === content.selected_action_id);
  const withdrawn = shown.message?.error;
  const isOpen = chosen === undefined && !withdrawn && refusal === undefined;
  const outcome = chosen && (chosenHere === chosen.id ? `You chose: ${chosen.label}` : `Chosen: ${chosen.label}`);
  return (
    <section className={styles['card']} data-open={isOpen || undefined} data-card aria-label={content.title}>
      <header>
        <Heading>{visibleText(content.title)}</Heading>
        {isOpen && <Badge tone="attention">Waits for you</Badge>}
      </header>
      {content.description !== '' && <p className={styles['plain']}>{visibleText(content.description)}</p>}
      {isOpen && (
        <div className={styles['choices']}>
          {content.actions.map(({ id, label, style }) => (
            <Button key={id} look={LOOKS[style]} disabled={isBusy} onClick={() => void choose(id)}>
              {label}
            </Button>
          ))}
          {content.actions.some(({ id }) => id === 'approve') && <PermissionLink />}
        </div>
      )}
      {!isOpen && (
        <p className={styles['note']} role="status">
          {outcome ?? refusal ?? withdrawn?.message ?? ''}
        </p>
      )}
    </section>
  );
}

/** Cards do not name the tool, so the choice between always, ask and never is on the screen of the agents. */
function PermissionLink() {
  const { workspaceId } = usePlace();
  return (
    <Link className={styles['more']} href={pages.agents(workspaceId)}>
      Always allow or refuse…
    </Link>
  );
}

function useChoice(messageId: string) {
  const client = useClient();
  const { workspaceId, conversationId } = usePlace();
  const [state, setState] = useState<{ isBusy: boolean; chosenHere?: string; refusal?: string }>({ isBusy: false });
  async function choose(actionId: string): Promise<void> {
    setState({ isBusy: true });
    try {
      await client.workspace(workspaceId).conversation(conversationId).choose(messageId, actionId);
      setState({ isBusy: false, chosenHere: actionId });
    } catch (error) {
      const code = error instanceof UswarmError ? error.code : '';
      const isFinal = code in REFUSALS;
      // The network may fail after the service has stored the choice: the message tells.
      if (isFinal) setState({ isBusy: false, refusal: REFUSALS[code] ?? code });
      else {
        setState({ isBusy: false });
        notifyError('The choice could not be sent')(error);
      }
    }
  }
  return { ...state, choose };
}
