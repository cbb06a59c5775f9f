import { createServer, type RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { childName, ROLLOUT, type UserSwarm, UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { listen, Registry, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createWebhookApp, loadWebhookConfig } from '@uswarm/webhook';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { SYNC_TOKEN, webhookConfig } from '@uswarm/testkit/webhook-config';
import { type Controller, createController } from '../controller.js';
import type { ControllerOptions } from '../options.js';

const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/userswarms/deployments';
const NAMES = ['workspace-a', 'workspace-b', 'workspace-c'];
const NEXT = { SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:2' };

interface Runtime extends KubernetesObject {
  spec: { replicas: number; template: { spec: { containers: [{ image: string }] } } };
}

describe('the rollout of a release with the controller and the webhook', () => {
  let api: ScriptedApi;
  let webhook: RunningServer;
  let app: RequestListener;
  let controller: Controller;
  let registry: Registry;

  beforeEach(async () => {
    api = await startScriptedApi();
    api.put('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'userswarms' } });
    await release({});
    webhook = await listen(
      createServer((request, response) => app(request, response)),
      { host: '127.0.0.1', port: 0 },
    );
    registry = new Registry();
  });
  afterEach(async () => {
    await controller.stop();
    await webhook.close(10);
    await api.close();
  });

  /** Replaces the webhook; every UserSwarm is reconciled with it at the next resync. */
  async function release(environment: Record<string, string>): Promise<void> {
    const config = await webhookConfig(loadWebhookConfig, { ROLLOUT_GATE: 'on', ...environment });
    app = createWebhookApp({ ...config, logger: silentLogger });
  }
  const start = async (overrides: Partial<ControllerOptions> = {}): Promise<void> => {
    controller = await createController({
      kubeConfig: api.config,
      hook: { url: `${webhook.url}/sync`, token: SYNC_TOKEN, timeoutMs: 5_000 },
      runtimeNamespaces: ['userswarms'],
      resyncS: 1,
      identity: 'pod-1',
      logger: silentLogger,
      registry,
      ...overrides,
    });
  };
  const userSwarm = (name: string): UserSwarm => api.get(USER_SWARMS, name) as unknown as UserSwarm;
  const runtime = (name: string): Runtime | undefined => api.get(DEPLOYMENTS, childName(name)) as Runtime | undefined;
  const image = (name: string): string | undefined => runtime(name)?.spec.template.spec.containers[0].image;
  const granted = (): string[] =>
    NAMES.filter((name) => userSwarm(name).metadata.annotations?.[ROLLOUT.revision] !== undefined);
  const change = (name: string, metadata: object, spec: object = {}): void => {
    const now = userSwarm(name);
    const generation = (now.metadata.generation ?? 0) + 1;
    const changed = { ...now, metadata: { ...now.metadata, ...metadata, generation }, spec: { ...now.spec, ...spec } };
    api.put(USER_SWARMS, changed as unknown as KubernetesObject);
  };
  const create = (name: string): void => {
    const spec = UserSwarmSpec.parse({ userId: 'user-1' });
    api.put(USER_SWARMS, { apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm', metadata: { name }, spec });
  };
  /** Completes a rollout in the Deployment's status, as the Deployment controller does. */
  const completeDeployment = (name: string): void => {
    const deployment = runtime(name);
    if (deployment === undefined) return;
    const pods = deployment.spec.replicas;
    const counts = { replicas: pods, updatedReplicas: pods, readyReplicas: pods, observedGeneration: 1 };
    api.put(DEPLOYMENTS, { ...deployment, status: counts });
  };
  const isReady = (name: string): boolean => userSwarm(name).status?.phase === 'Ready';
  const allReady = async (): Promise<void> => {
    for (const name of NAMES) create(name);
    await eventually(() => NAMES.every((name) => runtime(name) !== undefined));
    for (const name of NAMES) completeDeployment(name);
    await eventually(() => NAMES.every(isReady));
  };
  const allPending = (): Promise<true> =>
    eventually(() => NAMES.every((name) => userSwarm(name).status?.pendingRevision !== undefined));

  it('keeps busy runtimes, and replaces up to maxConcurrent idle ones', async () => {
    await start({ rollout: { maxConcurrent: 1, deadlineS: 3_600, maxFailures: 1 } });
    await allReady();
    await release(NEXT);
    const writes = (): string[] =>
      api.writes().flatMap(({ method, path }) => (path.startsWith(DEPLOYMENTS) ? [`${method} ${path}`] : []));
    const before = writes();
    await allPending();
    expect({ writes: writes(), granted: granted(), ready: NAMES.every(isReady) }).toEqual({
      writes: before,
      granted: [],
      ready: true,
    });

    const pending = userSwarm('workspace-b').status?.pendingRevision ?? '';
    for (const name of ['workspace-b', 'workspace-c']) change(name, { annotations: { [ROLLOUT.wanted]: pending } });
    await eventually(() => granted().length > 0);
    const [first = ''] = granted();
    expect(userSwarm(first).metadata.annotations).toEqual({
      [ROLLOUT.wanted]: pending,
      [ROLLOUT.revision]: pending,
      [ROLLOUT.time]: expect.stringMatching(/^\d{4}-.*Z$/),
    });

    // The orchestrator suspends the runtime, and resumes it when nothing is pending.
    change(first, {}, { suspend: true });
    await eventually(() => userSwarm(first).status?.pendingRevision === undefined);
    expect({ replicas: runtime(first)?.spec.replicas, image: image(first), granted: granted() }).toEqual({
      replicas: 0,
      image: 'registry.test/runtime:2',
      granted: [first],
    });
    const { [ROLLOUT.wanted]: _requested, ...annotations } = userSwarm(first).metadata.annotations ?? {};
    change(first, { annotations }, { suspend: false });
    await eventually(() => runtime(first)?.spec.replicas === 1);
    expect(granted()).toEqual([first]);
    completeDeployment(first);
    await eventually(() => granted().length === 2);
    expect({ image: image('workspace-a'), ready: NAMES.every(isReady) }).toEqual({
      image: 'registry.test/runtime:1',
      ready: true,
    });
    const expected = [
      'uswarm_controller_rollout_in_flight 1',
      'uswarm_controller_rollout_grants_total{forced="false"} 2',
    ];
    await eventually(async () => {
      const metrics = await registry.metrics();
      return expected.every((sample) => metrics.includes(sample));
    });
  });

  it('replaces busy runtimes one by one after the deadline, and halts on failures', async () => {
    await start({ rollout: { maxConcurrent: 1, deadlineS: 0.001, maxFailures: 1 } });
    await allReady();
    await release(NEXT);
    await eventually(() => granted().length === 1);
    const [first = ''] = granted();
    await eventually(() => image(first) === 'registry.test/runtime:2');
    const late = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
    const failed = { replicas: 1, updatedReplicas: 1, observedGeneration: 1, conditions: [late] };
    api.put(DEPLOYMENTS, { ...runtime(first)!, status: failed });
    await eventually(async () => (await registry.metrics()).includes('uswarm_controller_rollout_halted 1'));
    await eventually(() => api.requests.some(({ body }) => body['reason'] === 'RolloutHalted'));
    const others = NAMES.filter((name) => name !== first);
    expect({ granted: granted(), ready: others.every(isReady), images: others.map(image) }).toEqual({
      granted: [first],
      ready: true,
      images: ['registry.test/runtime:1', 'registry.test/runtime:1'],
    });

    // A rollback repairs the failed runtime without a grant and does not affect the others.
    await release({});
    await eventually(() => image(first) === 'registry.test/runtime:1');
    completeDeployment(first);
    await eventually(() => NAMES.every(isReady));
    await eventually(() => others.every((name) => userSwarm(name).status?.pendingRevision === undefined));
  });

  it('replaces a busy runtime immediately when its rollout is forced, also without a deadline', async () => {
    const forcedBefore = new Date(Date.now() + 3_600_000);
    await start({ rollout: { maxConcurrent: 1, deadlineS: 0, forcedBefore, maxFailures: 1 } });
    await allReady();
    await release(NEXT);
    await eventually(() => granted().length === 1);
    const [first = ''] = granted();
    await eventually(() => image(first) === 'registry.test/runtime:2');
    expect(granted()).toEqual([first]);
  });

  it('reconciles a forced runtime immediately and not at the next resync', async () => {
    await start({ resyncS: 3_600, rollout: { maxConcurrent: 1, deadlineS: 0.001, maxFailures: 1 } });
    await allReady();
    await release(NEXT);
    change('workspace-b', { annotations: { note: 'changed' } });
    await eventually(() => image('workspace-b') === 'registry.test/runtime:2');
    expect(granted()).toEqual(['workspace-b']);
  });

  it('starts at most maxConcurrentStarts runtimes concurrently, in order', async () => {
    await start({ maxConcurrentStarts: 1 });
    const started = (): string[] => NAMES.filter((name) => runtime(name) !== undefined);
    for (const name of NAMES) create(name);
    const queued = (): string[] => NAMES.filter((name) => userSwarm(name).status?.conditions?.[0]?.reason === 'Queued');
    await eventually(() => started().length === 1 && queued().length === 2);
    await eventually(async () => (await registry.metrics()).includes('uswarm_controller_start_queue_length 2'));
    for (let count = 1; count < NAMES.length; count += 1) {
      for (const name of started()) completeDeployment(name);
      await eventually(() => started().length === count + 1 && queued().length === NAMES.length - count - 1);
    }
    for (const name of started()) completeDeployment(name);
    await eventually(() => NAMES.every(isReady));
    expect(NAMES.some((name) => JSON.stringify(userSwarm(name)).includes('uswarm.dev/start'))).toBe(false);
  });
});
