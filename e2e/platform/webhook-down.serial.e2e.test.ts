import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName } from '@uswarm/contract/userswarm';
import { childrenDeleted, conditionOf, NAMESPACE, openSession, type Session } from '../support/index.js';

const WEBHOOK = { name: 'uswarm-webhook', namespace: NAMESPACE.release };

/** The chart's default. */
const REPLICAS = 2;

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(async () => {
  await session?.close();
});

async function scaleWebhook(replicas: number): Promise<void> {
  const { kubectl } = session.tools;
  await kubectl(['scale', '-n', WEBHOOK.namespace, `deployment/${WEBHOOK.name}`, `--replicas=${replicas}`]);
  if (replicas > 0) {
    await kubectl(['rollout', 'status', '-n', WEBHOOK.namespace, `deployment/${WEBHOOK.name}`, '--timeout=60s'], {
      timeoutMs: 70_000,
    });
  } else {
    const selector = `--selector=app.kubernetes.io/component=webhook`;
    await kubectl(['wait', '--for=delete', 'pod', '-n', WEBHOOK.namespace, selector, '--timeout=60s'], {
      timeoutMs: 70_000,
    });
  }
}

describe('an outage of the webhook', () => {
  let running: string;
  let crashed: string;
  let leaving: string;
  let coming: string;
  let podsBefore: (string | undefined)[];
  const podIds = async (name: string) => (await session.children(name)).pods.map(({ metadata }) => metadata?.uid);

  beforeAll(async () => {
    [running, crashed, leaving] = await Promise.all([session.create(), session.create(), session.create()]);
    await Promise.all([session.ready(running), session.ready(crashed), session.ready(leaving)]);
    podsBefore = await podIds(running);
    await scaleWebhook(0);
    session.onClose(() => scaleWebhook(REPLICAS));
    coming = await session.create();
    // Its pod is deleted, and the Deployment is not restored meanwhile.
    const deployment = `deployment/${childName(crashed)}`;
    await session.tools.kubectl(['scale', '-n', NAMESPACE.runtime, deployment, '--replicas=0']);
    await session.api.delete('UserSwarm', { name: leaving });
  });

  it('is reported in the phase and REASON of affected UserSwarms within 20 seconds, without partial changes', async () => {
    for (const [name, phase] of [
      [coming, 'Progressing'],
      [crashed, 'Progressing'],
      [leaving, 'Deleting'],
    ] as const) {
      const { object } = await session.swarms.until(
        name,
        'reports that the webhook is unreachable',
        (swarm) => swarm !== undefined && conditionOf(swarm, 'Ready')?.reason === 'WebhookUnavailable',
        20_000,
      );
      expect(object?.status?.phase).toBe(phase);
      expect(conditionOf(object!, 'Synced')?.status).toBe('False');
    }
    const { deployment } = await session.children(leaving);
    expect(deployment?.metadata?.deletionTimestamp).toBeUndefined();
  });

  it('causes no writes to running UserSwarms, even after a resync', async () => {
    const before = session.swarms.current(running)?.metadata.resourceVersion;
    await sleep(35_000);
    expect(session.swarms.current(running)?.status?.phase).toBe('Ready');
    expect(session.swarms.current(running)?.metadata.resourceVersion).toBe(before);
    expect(await podIds(running)).toEqual(podsBefore);
    expect(session.swarms.current(leaving)?.metadata.finalizers).toHaveLength(1);
  });

  it('PHASE-005 CTRL-004: ends with the completion of pending work when the webhook is available again', async () => {
    await scaleWebhook(REPLICAS);
    await Promise.all([session.deleted(leaving), session.ready(coming), session.ready(crashed)]);
    await childrenDeleted(session.api, leaving);
    await session.shows(running, 'Ready', 'Available', 60_000);
    await session.swarms.until(
      running,
      'synced again',
      (swarm) => swarm !== undefined && conditionOf(swarm, 'Synced')?.status === 'True',
      60_000,
    );
    expect(await podIds(running)).toEqual(podsBefore);
  });
});
