import { useConversations } from '@uswarm/client/react';
import { useClient, useSession } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { ui } from '../ui/ui.js';
import styles from './conversations.module.css';
import { PROMPTS } from './prompts.js';
import { usePrompt } from './use-prompt.js';

/** A workspace without an open conversation shows it. */
export function FirstRun({ workspaceId }: { workspaceId: string }) {
  const client = useClient();
  const { user } = useSession();
  const isKnown = useConversations(client, workspaceId).some(({ last_message: last }) => last !== null);
  const { begin, create, isBusy } = usePrompt(workspaceId);
  return (
    <div className={ui('stack', styles['start'])} data-known={isKnown || undefined}>
      <h1>What should the swarm do, {user.name}?</h1>
      <p className={ui('lead')}>
        The manager answers, or gives parts of the work to specialists. You see each step, and decide what needs your
        approval.
      </p>
      <div className={styles['prompts']}>
        {PROMPTS.map((prompt) => (
          <button
            key={prompt.text}
            type="button"
            className={ui('card', styles['prompt'])}
            disabled={isBusy}
            onClick={() => void begin(prompt)}
          >
            <Icon name={prompt.icon} size={22} />
            <strong>{prompt.title}</strong>
            <span className={ui('lead')}>{prompt.shows}</span>
          </button>
        ))}
      </div>
      <div>
        <Button look="primary" disabled={isBusy} onClick={() => void create()}>
          <Icon name="plus" size={16} />
          New conversation
        </Button>
      </div>
    </div>
  );
}
