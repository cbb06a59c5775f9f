import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition } from '@uswarm/contract/userswarm';
import { Registry, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { ScriptedApi } from '@uswarm/testkit/scripted-api';
import { startWrongWebhook, type WrongAnswer, wrongAnswers, type WrongWebhook } from '@uswarm/testkit/wrong-webhook';
import { startApiWithNamespace, statusOf, USER_SWARMS, userSwarm } from '../test/scripted-userswarms.js';
import { type Controller, createController } from './controller.js';

const NAMESPACE = 'userswarms';
/** Milliseconds, long enough for a busy machine. */
const WITHIN_MS = 300_000;
/** The UserSwarm that sees every fault. */
const WITNESS = 'workspace-witness';

const STARTING = { type: 'Ready', status: 'False', reason: 'Starting', message: 'The runtime is starting.' };
const right: RequestListener = (_request, response) => {
  const conditions = [{ ...STARTING, lastTransitionTime: '2030-01-01T00:00:00Z' }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ status: { phase: 'Progressing', conditions }, children: [] }));
};

describe('a webhook that answers wrongly', () => {
  let api: ScriptedApi;
  let webhook: WrongWebhook;
  let controller: Controller;

  beforeAll(async () => {
    api = await startApiWithNamespace();
    webhook = await startWrongWebhook(right);
    controller = await createController({
      kubeConfig: api.config,
      hook: { url: webhook.url, token: 'token', timeoutMs: 5_000, outageMs: 100 },
      runtimeNamespaces: [NAMESPACE],
      maxConcurrentStarts: 0,
      resyncS: 1,
      identity: 'pod-1',
      logger: silentLogger,
      registry: new Registry(),
    });
    api.put(USER_SWARMS, userSwarm(WITNESS));
  });
  afterAll(async () => {
    await controller.stop();
    await webhook.close();
    await api.close();
  });

  const readyOf = (name: string): Condition | undefined =>
    statusOf(api, name).conditions?.find(({ type }) => type === 'Ready');
  const shows = (name: string, { reason, message }: Pick<WrongAnswer, 'reason' | 'message'>) =>
    eventually(() => readyOf(name)?.reason === reason && message.test(readyOf(name)?.message ?? ''), {
      timeoutMs: WITHIN_MS,
      description: `${name} shows ${reason}: ${message}`,
    });

  it.each(wrongAnswers(NAMESPACE).map((answer, at) => ({ ...answer, name: `workspace-${at}` })))(
    'is named by a new UserSwarm, and by one that showed the fault before: $what',
    async ({ name, ...answer }) => {
      webhook.use(answer);
      api.put(USER_SWARMS, userSwarm(name));
      await shows(name, answer);
      await shows(WITNESS, answer);
      expect(statusOf(api, name).phase).toBe('Progressing');
      expect(statusOf(api, name).conditions).toContainEqual(
        expect.objectContaining({ type: 'Synced', status: 'False', reason: answer.reason }),
      );
    },
  );

  it('is named if it returns a response without a status', async () => {
    webhook.use({
      what: '',
      reason: 'WebhookInvalid',
      message: /./,
      respond: (response) => void response.end('{"children":[]}'),
    });
    api.put(USER_SWARMS, userSwarm('workspace-silent'));
    await shows('workspace-silent', { reason: 'WebhookInvalid', message: /returned no condition Ready/ });
    expect(statusOf(api, 'workspace-silent').phase).toBe('Progressing');
  });

  it('is no longer named once it answers rightly', async () => {
    webhook.use(undefined);
    await eventually(() => readyOf(WITNESS)?.reason === 'Starting', { timeoutMs: WITHIN_MS });
    await eventually(
      () => statusOf(api, WITNESS).conditions?.find(({ type }) => type === 'Synced')?.status === 'True',
      { timeoutMs: WITHIN_MS },
    );
    expect(api.names(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`)).toEqual([]);
  });
});
