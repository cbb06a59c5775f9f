import type { MessageData } from '@uswarm/contract';
import { type UserSwarm, userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import { conditionOf } from './conditions.js';
import type { Kinds } from './kinds.js';
import type { Session } from './session.js';

/** A user during a release change. Uses only REST, because a gateway rollout closes sockets. */
export interface RuntimeUser {
  mobile: TestClient;
  name: string;
}

export const runtimeUserOf = (mobile: TestClient): RuntimeUser => ({ mobile, name: userSwarmName(mobile.workspaceId) });

const pathOf = ({ workspaceId, conversationId }: TestClient): string =>
  `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;

/** Stores a message. The edge may be unavailable for a moment. */
export async function send({ mobile }: RuntimeUser, text: string, withinMs = 60_000): Promise<void> {
  const localId = crypto.randomUUID();
  await eventually(
    async () => {
      const { status } = await mobile.api('POST', pathOf(mobile), {
        local_id: localId,
        content: { type: 'text', text },
      });
      if (status >= 300) throw new Error(`the message is answered ${status}`);
      return true;
    },
    { description: 'stored', timeoutMs: withinMs, intervalMs: 1_000 },
  );
}

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

/** Waits for the complete answer that contains the text. @throws Error if there are two */
export function answerWith({ mobile }: RuntimeUser, text: string, withinMs: number): Promise<MessageData> {
  return eventually(
    async () => {
      const { body } = await mobile.api('GET', `${pathOf(mobile)}?limit=100`);
      const { data } = body as { data: MessageData[] };
      const answers = data.filter((message) => message.role === 'agent' && textOf(message).includes(text));
      if (answers.length > 1) throw new Error(`answered ${answers.length} times`);
      const [answer] = answers;
      if (answer !== undefined && answer.status === 'failed') throw new Error('the answer failed');
      return answer?.status === 'delivered' ? answer : undefined;
    },
    { description: `an answer with ${text.slice(0, 60)}`, timeoutMs: withinMs, intervalMs: 1_000 },
  );
}

export const isUpToDate = (swarm: UserSwarm | undefined): boolean =>
  swarm?.status?.phase === 'Ready' && conditionOf(swarm, 'UpToDate')?.status === 'True';

/** The maximum number of UserSwarms that were concurrently not Ready since `from`. */
export function mostStopped({ swarms }: Session, users: readonly RuntimeUser[], from: number): number {
  const phases = users
    .flatMap(({ name }) => swarms.history(name).map(({ at, object }) => ({ at, name, phase: object?.status?.phase })))
    .toSorted((left, right) => left.at - right.at);
  const stopped = new Set<string>();
  let most = 0;
  for (const { at, name, phase } of phases) {
    if (phase === 'Ready') stopped.delete(name);
    if (phase === 'Suspended') stopped.add(name);
    if (at >= from) most = Math.max(most, stopped.size);
  }
  return most;
}

export const podOf = async ({ children }: Session, name: string): Promise<Kinds['Pod'] | undefined> =>
  (await children(name)).pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined);

export const imageOfPod = (pod: Kinds['Pod'] | undefined): string | undefined => pod?.spec?.containers[0]?.image;

/** When the watch first saw that this pod was terminating, in milliseconds since the epoch. */
export function stoppedAt({ pods }: Session, pod: Kinds['Pod']): number | undefined {
  const key = `${pod.metadata?.namespace}/${pod.metadata?.name}`;
  return pods.history(key).find(({ object }) => object === undefined || object.metadata?.deletionTimestamp)?.at;
}
