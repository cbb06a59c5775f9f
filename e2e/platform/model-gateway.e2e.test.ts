import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpMethod } from '@kubernetes/client-node';
import type { MessageData } from '@uswarm/contract';
import { LABEL, userSwarmName } from '@uswarm/contract/userswarm';
import { parseSigningKey, signModelToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { TestClient } from '@uswarm/testkit/test-client';
import { allowConnection, type Caller, type Target, tryConnection, waitForOutcome } from '../support/attack.js';
import {
  evaluateInPod,
  GENERATED_SECRET,
  NAMESPACE,
  openSession,
  PROVIDER_KEY,
  RELEASE,
  runningContainer,
  secretValue,
  type Session,
} from '../support/index.js';
import { keepTalking } from '../support/keep-talking.js';
import { modelRequests, useModelServer } from '../support/model-server.js';
import { signUp } from '../support/sign-up.js';

const MODELS: Target = {
  host: `models.${NAMESPACE.models}.svc.cluster.local`,
  port: 8080,
  pods: { namespace: NAMESPACE.models, labels: { app: 'models' } },
};

let session: Session;
let mobile: TestClient;
let name: string;
let runtime: Caller;

beforeAll(async () => {
  session = await openSession();
  mobile = await signUp(session);
  name = userSwarmName(mobile.workspaceId);
  const pod = await useModelServer(session, name);
  runtime = {
    namespace: NAMESPACE.runtime,
    pod: pod?.metadata?.name ?? '',
    labels: { [LABEL.instance]: name },
  };
});
afterAll(() => session?.close());

const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

/** Log lines for this workspace's calls. */
async function loggedCalls(): Promise<{ turn_id: string }[]> {
  const labelSelector = 'app.kubernetes.io/component=model-gateway';
  const pods = await session.api.list('Pod', { namespace: NAMESPACE.release, labelSelector });
  const logs = await Promise.all(
    pods.map(async ({ metadata }) => {
      const path = `/api/v1/namespaces/${NAMESPACE.release}/pods/${metadata?.name}/log`;
      return (await session.api.request(HttpMethod.GET, path)).text();
    }),
  );
  const lines = logs.flatMap((text) => text.split('\n')).filter((line) => line.includes(mobile.workspaceId));
  return lines.map((line) => JSON.parse(line) as { turn_id: string }).filter(({ turn_id: turn }) => turn !== undefined);
}

/**
 * Calls the model gateway from the runtime's current pod, which is another one after a suspension. @returns the status
 */
const callGateway = async (token: string): Promise<{ status: number; body: string }> =>
  evaluateInPod(
    session.tools,
    await runningContainer(session, name),
    async (bearer: string) => {
      const response = await fetch(`${process.env['MODEL_GATEWAY_URL']}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: JSON.stringify({ model: 'flash', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
      });
      return { status: response.status, body: await response.text() };
    },
    token,
  );

describe('a workspace whose provider is behind the model gateway', () => {
  let answer: MessageData;

  it('receives an answer of the provider, which sees only the key of the platform', async () => {
    const question = `Question ${randomUUID()}`;
    const { answer: message, done } = await mobile.ask(question);
    answer = message;
    expect(done.payload).toMatchObject({ status: 'delivered' });
    expect(textOf(answer)).toMatch(/^The model received: /);
    expect(textOf(answer)).toContain(question);
    const requests = await modelRequests(session);
    expect(requests.length).toBeGreaterThan(0);
    expect(new Set(requests.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${PROVIDER_KEY}`]));
    expect(new Set(requests.map(({ model }) => model))).toEqual(new Set(['scripted-model']));
  });

  it('has no key of a provider in its pod', async () => {
    const variables = await evaluateInPod(session.tools, runtime, () => process.env);
    expect(Object.keys(variables).filter((variable) => /^(OPENAI|ANTHROPIC)_/.test(variable))).toEqual([]);
    expect(JSON.stringify(variables)).not.toContain(PROVIDER_KEY);
    expect(variables['MODEL_GATEWAY_URL']).toContain(`${RELEASE}-model-gateway.${NAMESPACE.release}`);
  });

  it('cannot reach the provider, which only its network policy blocks', async () => {
    const talk = keepTalking(mobile);
    session.onClose(() => talk.stop());
    await expect(waitForOutcome(session, runtime, MODELS, 'silence')).resolves.toBe('silence');
    const removePolicy = await allowConnection(session, 'Egress', runtime, MODELS);
    await expect(waitForOutcome(session, runtime, MODELS, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, runtime, MODELS, 'silence')).resolves.toBe('silence');
    const gateway = { ...MODELS, host: `${RELEASE}-model-gateway.${NAMESPACE.release}.svc.cluster.local` };
    expect(await tryConnection(session, runtime, gateway)).toBe('open');
    await talk.stop();
  });

  it('cannot call a model beyond its token limit, also with a valid token', async () => {
    const [call] = await eventually(
      async () => {
        const calls = await loggedCalls();
        return calls.length > 0 ? calls : undefined;
      },
      { description: 'the gateway logs a call of the workspace', timeoutMs: 30_000 },
    );
    const key = parseSigningKey(await secretValue(session.api, GENERATED_SECRET, 'model-token-signing-key'));
    const { workspaceId } = mobile;
    const agentId = answer.agent?.id ?? '';
    const turn = { workspaceId, agentId, turnId: call!.turn_id };
    // A runtime that answers now is not suspended during the calls.
    await mobile.ask('Hello again.');
    // As for a conversation summary: the turn has ended.
    const tokenOf = (): Promise<string> => signModelToken(key, { ...turn, purpose: 'summary' });
    expect(await callGateway(await tokenOf())).toMatchObject({ status: 200 });
    expect(await callGateway(await signModelToken(key, { ...turn, purpose: 'turn' }))).toMatchObject({ status: 403 });
    await mobile.ask('Count 900000000 tokens.');
    const refused = await callGateway(await tokenOf());
    expect(refused.status).toBe(402);
    expect(refused.body).toContain('token_limit_reached');
  });
});
