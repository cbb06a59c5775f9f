import type { Client } from '@uswarm/client';
import type { IconName } from '../ui/icons.js';

export interface Prompt {
  icon: IconName;
  title: string;
  text: string;
  /** User-visible text. */
  shows: string;
  /** Changes the settings that the prompt needs. */
  prepare?: (client: Client, managerId: string) => Promise<unknown>;
}
/** Requests that the built-in model has answers for, and real models understand. */
export const PROMPTS: readonly Prompt[] = [
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
