import { useConversations } from '@uswarm/client/react';
import { useState } from 'react';
import { useAgents, useClient, useSession } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { notifyError } from '../ui/notify.js';
import { ui } from '../ui/ui.js';
import styles from './conversations.module.css';
import { type Prompt, PROMPTS } from './prompts.js';
import { useNewConversation } from './use-new-conversation.js';

/** What a workspace shows while no conversation is open. */
export function FirstRun({ workspaceId }: { workspaceId: string }) {
  const client = useClient();
  const { user } = useSession();
  const isKnown = useConversations(client, workspaceId).some(({ last_message: last }) => last !== null);
  const agents = useAgents(workspaceId);
  const { create, isBusy } = useNewConversation(workspaceId);
  const [isPreparing, setPreparing] = useState(false);
  async function begin({ text, prepare }: Prompt): Promise<void> {
    setPreparing(true);
    const manager = agents.find(({ slug }) => slug === 'manager');
    try {
      if (manager !== undefined) await prepare?.(client, manager.id);
      await create(text);
    } catch (error) {
      notifyError('The setting could not be changed')(error);
    }
    setPreparing(false);
  }
  return (
    <div className={ui('stack', styles['start'])} data-known={isKnown || undefined}>
      <h1>What should the swarm do, {user.name}?</h1>
      <p>
        The manager answers, or gives parts of the work to specialists. You see each step, and decide what needs your
        approval.
      </p>
      <div className={styles['prompts']}>
        {PROMPTS.map((prompt) => (
          <button
            key={prompt.text}
            type="button"
            className={ui('card', styles['prompt'])}
            disabled={isBusy || isPreparing}
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
