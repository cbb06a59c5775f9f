import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NAMESPACE, openSession, type Session } from '../support/index.js';
import {
  deployForwardProxy,
  deployPrivateModel,
  FORWARD_PROXY,
  PRIVATE_MODEL,
  PRIVATE_MODEL_HOST,
  PRIVATE_MODEL_PORT,
  TO_FORWARD_PROXY,
} from '../support/private-model.js';
import { AWAKE, createRollingRelease } from '../support/rolling-release.js';
import { answerWith, type RuntimeUser, send } from '../support/rolling-swarms.js';

const AUTHORITY = { name: 'e2e-company-ca', namespace: NAMESPACE.release };

/** Services reach only the proxy, which is a pod here, and their own cluster. */
const { namespaceSelector, podSelector } = TO_FORWARD_PROXY;
const VALUES = {
  trustedCA: { existingConfigMap: AUTHORITY.name },
  proxy: { https: FORWARD_PROXY },
  modelGateway: { openai: { baseUrl: PRIVATE_MODEL } },
  runtime: { ...AWAKE, defaultProvider: 'openai' },
  networkPolicy: {
    proxy: { to: [{ namespaceSelector, podSelector }] },
    modelGateway: { egressAllowRules: { inCluster: [] } },
  },
};

let session: Session;
let user: RuntimeUser;
let proxyTargets: () => Promise<string[]>;

beforeAll(async () => {
  session = await openSession();
  await deployPrivateModel(session, AUTHORITY);
  proxyTargets = await deployForwardProxy(session);
  const release = createRollingRelease(session);
  await release.upgrade(VALUES);
  // The issuer's keys are in the cluster.
  [user] = (await release.signUp(1)) as [RuntimeUser];
});
afterAll(() => session?.close());

describe('a release in a network with a mandatory proxy', () => {
  it('answers through the proxy, which receives only the provider outside', async () => {
    const question = `Question ${randomUUID()}`;
    await send(user, question);
    const { content } = await answerWith(user, question, 120_000);
    expect(content).toMatchObject({ type: 'text', text: expect.stringMatching(/^The model received: /) });
    expect(new Set(await proxyTargets())).toEqual(new Set([`${PRIVATE_MODEL_HOST}:${PRIVATE_MODEL_PORT}`]));
  });
});
