import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition, UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { startWrongWebhook, type WrongAnswer, wrongAnswers, type WrongWebhook } from '@uswarm/testkit/wrong-webhook';
import { type ControllerFixture, openFixture } from './fixture.js';
import { forwardTo } from './forward.js';

/** The fixture reports an outage after one second, and a response may take two. */
const SHOWN_WITHIN_MS = 30_000;
const OUTAGE_MS = 1_000;

// All UserSwarms are suspended, so no pod is needed.
describe('a webhook that answers wrongly, on a real API server', () => {
  let fixture: ControllerFixture;
  let webhook: WrongWebhook;
  let healthy: KubernetesObject | undefined;
  let count = 0;

  beforeAll(async () => {
    fixture = await openFixture();
    webhook = await startWrongWebhook(forwardTo(() => fixture.hook.url));
    await fixture.start({
      hook: { url: webhook.url, token: fixture.token, timeoutMs: 2_000, outageMs: OUTAGE_MS },
    });
    await create('workspace-healthy');
    healthy = await shows('workspace-healthy', 'is Suspended', ({ phase }) => phase === 'Suspended');
  });
  afterAll(async () => {
    webhook.use(undefined);
    await fixture.close();
    await webhook.close();
  });

  const create = (name: string): Promise<KubernetesObject> =>
    fixture.apply({
      apiVersion: fixture.apiVersion,
      kind: 'UserSwarm',
      metadata: { name },
      spec: { userId: 'user-1', placement: { runtimeNamespace: fixture.namespace }, suspend: true },
    } as KubernetesObject);
  const statusOf = (object: KubernetesObject): UserSwarmStatus => (object['status'] ?? {}) as UserSwarmStatus;
  const readyOf = ({ conditions = [] }: UserSwarmStatus): Condition | undefined =>
    conditions.find(({ type }) => type === 'Ready');
  const shows = (name: string, what: string, holds: (status: UserSwarmStatus) => boolean): Promise<KubernetesObject> =>
    eventually(
      async () => {
        const object = await fixture.get({ kind: 'UserSwarm', name });
        return object !== undefined && holds(statusOf(object)) ? object : undefined;
      },
      { description: `${name} ${what}`, timeoutMs: SHOWN_WITHIN_MS },
    );
  const names =
    (answer: WrongAnswer) =>
    (status: UserSwarmStatus): boolean => {
      const { reason = '', message = '' } = readyOf(status) ?? {};
      return reason === answer.reason && answer.message.test(message);
    };

  // The fixture's namespace is known only when it runs; the answers differ in nothing else.
  it.each(wrongAnswers('').map(({ what }, at) => [what, at] as const))(
    'is named in REASON by new UserSwarms and changes no other: %s',
    async (_what, at) => {
      const answer = wrongAnswers(fixture.namespace)[at]!;
      webhook.use(answer);
      const name = `workspace-wrong-${(count += 1)}`;
      await create(name);
      const shown = await shows(name, `shows ${answer.reason}: ${answer.message}`, names(answer));
      expect(statusOf(shown).phase).toBe('Progressing');
      // The text about the previous fault does not stay.
      await shows('workspace-wrong-1', `shows ${answer.reason}: ${answer.message}`, names(answer));
      const { metadata } = (await fixture.get({ kind: 'UserSwarm', name: 'workspace-healthy' }))!;
      expect(metadata.resourceVersion).toBe(healthy?.metadata.resourceVersion);
    },
  );

  it('is no longer named when it answers rightly', async () => {
    webhook.use(undefined);
    for (let at = 1; at <= count; at += 1) {
      await shows(`workspace-wrong-${at}`, 'is Suspended', ({ phase }) => phase === 'Suspended');
    }
    expect(await fixture.list('Deployment', fixture.namespace)).toHaveLength(count + 1);
  });
});
