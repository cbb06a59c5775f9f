import type { Client } from '@uswarm/client';
import { useConversations } from '@uswarm/client/react';
import { useState } from 'react';
import { useAgents, useClient, useSession } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon, type IconName } from '../ui/icon.js';
import { notifyError } from '../ui/notify.js';
import styles from './conversations.module.css';
import { useNewConversation } from './use-new-conversation.js';

interface Prompt {
  icon: IconName;
  title: string;
  text: string;
  /** What the user sees. */
  shows: string;
  /** Changes the settings that the prompt needs. */
  prepare?: (client: Client, managerId: string) => Promise<unknown>;
}
/** Requests of the built-in model, which real models understand as well. */
const PROMPTS: readonly Prompt[] = [
  {
    icon: 'swarm',
    title: 'Delegate to three agents',
    text: 'delegate to three agents',
    shows: 'Specialists work at the same time. Open “Swarm” to follow them.',
  },
  {
    icon: 'check',
    title: 'Ask me before you act',
    text: 'show me an approval',
    shows: 'The manager asks before it changes its memories. This prompt turns that on.',
    prepare: (client, id) =>
      client.api.patch('/v1/agents/{id}/tools/{name}', { path: { id, name: 'memories' }, body: { permission: 'ask' } }),
  },
  {
    icon: 'document',
    title: 'Write a document',
    text: 'show me an artifact',
    shows: 'It grows beside the conversation, in versions that you can compare.',
  },
];

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
    <div className={styles['start']} data-known={isKnown || undefined}>
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
            className={styles['prompt']}
            disabled={isBusy || isPreparing}
            onClick={() => void begin(prompt)}
          >
            <Icon name={prompt.icon} size={22} />
            <strong>{prompt.title}</strong>
            <span>{prompt.shows}</span>
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
