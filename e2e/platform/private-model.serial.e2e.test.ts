import { randomUUID } from 'node:crypto';
import { HttpMethod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownEnvSecret } from '@uswarm/contract/userswarm';
import { waitForOutcome } from '../support/attack.js';
import { NAMESPACE, openSession, type Session } from '../support/index.js';
import { modelRequests } from '../support/model-server.js';
import { failureOf, untilChanged, useOwnProvider, writeRuntimeSecret } from '../support/own-provider.js';
import {
  deployForwardProxy,
  deployPrivateModel,
  FORWARD_PROXY,
  PRIVATE_MODEL,
  PRIVATE_MODEL_HOST,
  PRIVATE_MODEL_PORT,
  TO_FORWARD_PROXY,
  TO_PRIVATE_MODEL,
} from '../support/private-model.js';
import { AWAKE, createRollingRelease, type RollingRelease } from '../support/rolling-release.js';
import { answerWith, podOf, type RuntimeUser, send } from '../support/rolling-swarms.js';

const AUTHORITY = { name: 'e2e-private-ca', namespace: NAMESPACE.runtime };
const KEY = `private-${randomUUID()}`;
const TARGET = { host: PRIVATE_MODEL_HOST, port: PRIVATE_MODEL_PORT };

/** The release whose runtimes may connect to these destinations. */
const valuesWith = (inCluster: object, runtime: object = {}): object => ({
  runtime: { ...AWAKE, ...runtime },
  networkPolicy: { runtime: { egressAllowRules: { inCluster: [inCluster] } } },
});

let session: Session;
let release: RollingRelease;
let user: RuntimeUser;
let proxyTargets: () => Promise<string[]>;

beforeAll(async () => {
  session = await openSession();
  await deployPrivateModel(session, AUTHORITY);
  proxyTargets = await deployForwardProxy(session);
  release = createRollingRelease(session);
  await release.upgrade(valuesWith(TO_PRIVATE_MODEL));
  [user] = (await release.signUp(1)) as [RuntimeUser];
  const secret = ownEnvSecret(user.name);
  await writeRuntimeSecret(session, secret, {
    OPENAI_BASE_URL: PRIVATE_MODEL,
    OPENAI_API_KEY: KEY,
    OPENAI_MODEL: 'scripted-model',
  });
  await useOwnProvider(session, user, secret);
});
afterAll(() => session?.close());

const pod = async (): Promise<{ namespace: string; pod: string }> => ({
  namespace: NAMESPACE.runtime,
  pod: (await podOf(session, user.name))?.metadata?.name ?? '',
});

/** A field's values in the runtime's log. */
async function logged(field: string): Promise<unknown[]> {
  const { namespace, pod: name } = await pod();
  const log = await session.api.request(HttpMethod.GET, `/api/v1/namespaces/${namespace}/pods/${name}/log`);
  const lines = (await log.text()).split('\n').filter((line) => line.startsWith('{'));
  return lines
    .map((line) => (JSON.parse(line) as Record<string, unknown>)[field])
    .filter((value) => value !== undefined);
}

const receivedRequests = async (): Promise<number> =>
  (await modelRequests(session)).filter(({ authorization }) => authorization === `Bearer ${KEY}`).length;

/** Upgrades the release and waits until the runtime has the new settings. */
async function upgrade(values: object): Promise<void> {
  const former = session.swarms.current(user.name);
  await release.upgrade(values);
  await untilChanged(session, user, former);
}

async function expectAnswer(): Promise<void> {
  const question = `Question ${randomUUID()}`;
  await send(user, question);
  const { content } = await answerWith(user, question, 120_000);
  expect(content).toMatchObject({ type: 'text', text: expect.stringMatching(/^The model received: /) });
}

describe('a runtime whose model has a certificate of a private authority', () => {
  it('fails with a TLS error without runtime.trustedCA', async () => {
    await expect(waitForOutcome(session, await pod(), TARGET, 'open')).resolves.toBe('open');
    await send(user, `Question ${randomUUID()}`);
    expect(await failureOf(user)).toBe('model_unavailable');
    expect(await logged('error_cause')).toEqual(['UNABLE_TO_VERIFY_LEAF_SIGNATURE']);
    expect(await receivedRequests()).toBe(0);
  });

  describe('with the authority in the ConfigMap of runtime.trustedCA', () => {
    const trustedCA = { existingConfigMap: AUTHORITY.name };

    beforeAll(() => upgrade(valuesWith(TO_PRIVATE_MODEL, { trustedCA })));

    it('answers with this model', async () => {
      await expectAnswer();
      expect(await receivedRequests()).toBeGreaterThan(0);
      expect(await proxyTargets()).toEqual([]);
    });

    it('answers through runtime.proxy if it can reach only the proxy', async () => {
      await upgrade(valuesWith(TO_FORWARD_PROXY, { trustedCA, proxy: { https: FORWARD_PROXY } }));
      await expect(waitForOutcome(session, await pod(), TARGET, 'silence')).resolves.toBe('silence');
      await expectAnswer();
      expect(new Set(await proxyTargets())).toEqual(new Set([`${TARGET.host}:${TARGET.port}`]));
    });
  });
});
