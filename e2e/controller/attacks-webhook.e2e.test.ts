import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName, type UserSwarmStatus } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { startWrongWebhook, type WrongWebhook } from '@uswarm/testkit/wrong-webhook';
import { attackTitle } from '../support/attack.js';
import { answerOf, WEBHOOK_ANSWERS, WEBHOOK_DELETIONS } from '../support/attacks/webhook.js';
import { type ControllerFixture, openFixture } from './fixture.js';
import { forwardTo } from './forward.js';

const SHOWN_WITHIN_MS = 30_000;
/** Not suspended. Their image does not exist in the cluster; only their children matter. */
const RUNNING = 'workspace-running';
const VICTIM = 'workspace-victim';
const KINDS = ['Deployment', 'Service', 'ServiceAccount'];

let fixture: ControllerFixture;
let webhook: WrongWebhook;
let count = 0;

const create = (name: string, suspend: boolean): Promise<KubernetesObject> =>
  fixture.apply({
    apiVersion: fixture.apiVersion,
    kind: 'UserSwarm',
    metadata: { name },
    spec: { userId: 'user-1', placement: { runtimeNamespace: fixture.namespace }, suspend },
  } as KubernetesObject);
const place = (name: string) => ({
  namespace: fixture.namespace,
  own: childName(name),
  victim: childName(VICTIM),
});
const shows = (name: string, message: RegExp): Promise<true> =>
  eventually(
    async () => {
      const { conditions = [] } = ((await fixture.get({ kind: 'UserSwarm', name }))?.['status'] ??
        {}) as UserSwarmStatus;
      return (
        conditions.some((each) => each.reason === 'WebhookInvalid' && message.test(each.message ?? '')) || undefined
      );
    },
    { description: `${name} shows ${message}`, timeoutMs: SHOWN_WITHIN_MS },
  );
/** A UserSwarm's children, to see that none is replaced or changed. */
const childrenOf = (name: string): Promise<{ kind: string; uid: string | undefined; spec: unknown }[]> =>
  Promise.all(
    KINDS.map(async (kind) => {
      const child = await fixture.get({ kind, namespace: fixture.namespace, name: childName(name) });
      return { kind, uid: child?.metadata.uid, spec: child?.['spec'] };
    }),
  );

beforeAll(async () => {
  fixture = await openFixture();
  webhook = await startWrongWebhook(forwardTo(() => fixture.hook.url));
  await fixture.start({ hook: { url: webhook.url, token: fixture.token, timeoutMs: 2_000, outageMs: 1_000 } });
  for (const name of [RUNNING, VICTIM]) {
    await create(name, false);
    await eventually(
      async () => {
        const children = await childrenOf(name);
        return children.every(({ uid }) => uid !== undefined) || undefined;
      },
      { description: `${name} has its children`, timeoutMs: SHOWN_WITHIN_MS },
    );
  }
});
afterAll(async () => {
  webhook?.use(undefined);
  await fixture?.close();
  await webhook?.close();
});

describe('an attack', () => {
  it.each(WEBHOOK_ANSWERS.map((row) => [attackTitle(row), row] as const))('%s', async (_title, row) => {
    const name = `workspace-attacked-${(count += 1)}`;
    const before = await childrenOf(VICTIM);
    webhook.use(answerOf(row, place(name)));
    await create(name, true);
    await shows(name, row.error);
    expect(await childrenOf(VICTIM)).toEqual(before);
    expect(await childrenOf(name)).toEqual(KINDS.map((kind) => ({ kind, uid: undefined, spec: undefined })));
  });

  it.each(WEBHOOK_DELETIONS.map((row) => [attackTitle(row), row] as const))('%s', async (_title, row) => {
    const before = await childrenOf(RUNNING);
    webhook.use(answerOf(row, place(RUNNING)));
    await shows(RUNNING, row.error);
    expect(await childrenOf(RUNNING)).toEqual(before);
  });
});
