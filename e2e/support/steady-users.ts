import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageData } from '@uswarm/contract';
import { answerWith, type RuntimeUser, send } from './rolling-swarms.js';

/** Pause between an answer and the next message, in milliseconds. */
const PAUSE_MS = 2_000;
/** The control plane notices a lost node after 50 seconds, and replaces its pods after that. */
const WITHIN_MS = 400_000;

/** One answered message. Durations include repeated requests. */
interface Asked {
  user: string;
  nonce: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** Milliseconds until it was acknowledged. */
  storedMs: number;
  /** Milliseconds until its answer was complete. */
  answeredMs: number;
}

export interface SteadyUsers {
  /** Messages that were not answered yet at this time, or were sent later. */
  since(at: number): Asked[];
  /** Ends with the answers to all sent messages. @returns messages that were not stored, or not answered exactly once */
  stop(): Promise<string[]>;
}

/** Users who always send the next message after an answer. */
export function talkSteadily(users: readonly RuntimeUser[]): SteadyUsers {
  const asked: Asked[] = [];
  const failed: string[] = [];
  let stopped = false;
  const talk = async (user: RuntimeUser): Promise<void> => {
    while (!stopped) {
      const nonce = randomUUID();
      const at = Date.now();
      try {
        await send(user, `Repeat ${nonce}`, WITHIN_MS);
        const storedMs = Date.now() - at;
        await answerWith(user, nonce, WITHIN_MS);
        asked.push({ user: user.name, nonce, at, storedMs, answeredMs: Date.now() - at });
      } catch (error) {
        failed.push(`${user.name}: ${String(error)}`);
      }
      await sleep(PAUSE_MS);
    }
  };
  const ended = Promise.all(users.map(talk));
  return {
    since: (from) => asked.filter(({ at, answeredMs }) => at + answeredMs >= from),
    async stop() {
      stopped = true;
      await ended;
      for (const user of users) {
        const answers = (await history(user)).filter(({ role }) => role === 'agent');
        for (const { nonce } of asked.filter((each) => each.user === user.name)) {
          const count = answers.filter(({ content }) => content.type === 'text' && content.text.includes(nonce)).length;
          if (count !== 1) failed.push(`${user.name}: ${nonce} was answered ${count} times`);
        }
      }
      return failed;
    },
  };
}

/** All messages of the user's conversation. */
async function history({ mobile }: RuntimeUser): Promise<MessageData[]> {
  const path = `/v1/workspaces/${mobile.workspaceId}/conversations/${mobile.conversationId}/messages?limit=100`;
  const messages: MessageData[] = [];
  for (let scroll = ''; ;) {
    const { body } = await mobile.api('GET', `${path}${scroll}`);
    const { data, pagination } = body as { data: MessageData[]; pagination: { next_scroll_id: string | null } };
    messages.push(...data);
    if (pagination.next_scroll_id === null) return messages;
    scroll = `&scrollId=${encodeURIComponent(pagination.next_scroll_id)}`;
  }
}
