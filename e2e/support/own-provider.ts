import type { MessageData } from '@uswarm/contract';
import type { UserSwarm } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { NAMESPACE } from './fixtures.js';
import { isUpToDate, type RuntimeUser } from './rolling-swarms.js';
import type { Session } from './session.js';

/** Creates or replaces a Secret with runtime variables until the session is closed. */
export async function writeRuntimeSecret(
  session: Session,
  name: string,
  values: Record<string, string>,
): Promise<void> {
  const place = { name, namespace: NAMESPACE.runtime };
  if ((await session.api.find('Secret', place)) !== undefined) {
    await session.api.merge('Secret', place, { stringData: values });
    return;
  }
  await session.api.create('Secret', { metadata: place, stringData: values });
  session.onClose(() => session.api.delete('Secret', place));
}

/** The runtime calls its model provider itself, with the keys in this Secret, rather than through the model gateway. */
export async function useOwnProvider(session: Session, { name }: RuntimeUser, secret: string): Promise<void> {
  // A pod that is deleted while it starts uses its whole grace period, and the next pod waits for it.
  await session.ready(name);
  await session.patch(name, { config: { defaultProvider: 'openai', envSecretRef: { name: secret } } });
  await session.pod(
    name,
    `with the Secret ${secret}`,
    ({ spec }) => spec?.containers[0]?.envFrom?.some(({ secretRef }) => secretRef?.name === secret) === true,
  );
  await session.ready(name);
}

/** Waits until the runtime is Ready with another platform revision than `former`. */
export const untilChanged = (
  session: Session,
  { name }: RuntimeUser,
  former: UserSwarm | undefined,
): Promise<unknown> =>
  session.swarms.until(
    name,
    'Ready with another revision',
    (swarm) => isUpToDate(swarm) && swarm?.status?.revision !== former?.status?.revision,
    240_000,
  );

/** Waits for the failed answer to the user's newest message. @returns its error code */
export function failureOf({ mobile }: RuntimeUser, withinMs = 180_000): Promise<string> {
  const path = `/v1/workspaces/${mobile.workspaceId}/conversations/${mobile.conversationId}/messages?limit=100`;
  return eventually(
    async () => {
      const { body } = await mobile.api('GET', path);
      const { data } = body as { data: MessageData[] };
      const failed = data.find(({ role, status }) => role === 'agent' && status === 'failed');
      return failed?.error?.code;
    },
    { description: 'an answer that failed', timeoutMs: withinMs, intervalMs: 1_000 },
  );
}
