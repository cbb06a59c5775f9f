import { describe, expect, it } from '@jest/globals';
import {
  type Condition,
  ROLLOUT,
  START,
  START_QUEUED,
  type SyncRequest,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { ownChildren } from '../../test/arbitraries.js';
import { pod, settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';
import { PLATFORM_REVISION, REVISION, SPEC_REVISION, TEMPLATE } from '../observed/annotations.js';
import { specRevision } from './revision.js';
import type { RenderSettings } from './settings.js';

/** Settings of the running release and of the next one. */
const OLD = testSettings();
const NEW = testSettings({ image: 'registry.test/runtime:2' });
const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };

interface Rendered extends KubernetesObject {
  spec: { replicas: number; template: { spec: { containers: [{ image: string }] } } };
}

async function renderWith(request: SyncRequest, settings: RenderSettings = NEW) {
  const response = render(request, settings, await testFacts());
  const status = response.status as UserSwarmStatus;
  const deployment = (response.children as unknown as Rendered[]).find(({ kind }) => kind === 'Deployment');
  const condition = (type: string): Condition | undefined => status.conditions?.find((each) => each.type === type);
  return {
    status,
    deployment,
    image: deployment?.spec.template.spec.containers[0].image,
    ready: condition('Ready'),
    upToDate: condition('UpToDate'),
  };
}

const observedDeployment = (request: SyncRequest): KubernetesObject =>
  ownChildren(request).find(({ kind }) => kind === 'Deployment')!;

const annotated = (request: SyncRequest, annotations: Record<string, string>): SyncRequest => {
  const metadata = { ...request.parent.metadata, annotations };
  return { ...request, parent: { ...request.parent, metadata } };
};
const withSpec = (request: SyncRequest, spec: Record<string, unknown>): SyncRequest => ({
  ...request,
  parent: { ...request.parent, spec: userSwarm(spec).spec },
});

describe('a running runtime after a change of the platform revision', () => {
  it('a running runtime keeps its template, stays Ready and reports the pending revision', async () => {
    const request = await settledRequest(userSwarm());
    const { status, deployment, ready, upToDate } = await renderWith(request);
    const before = await renderWith(request, OLD);
    expect(deployment).toEqual(before.deployment);
    expect({ phase: status.phase, image: status.image, reason: ready?.reason }).toEqual({
      phase: 'Ready',
      image: 'registry.test/runtime:1',
      reason: 'Available',
    });
    expect({ revision: status.revision, pendingRevision: status.pendingRevision }).toEqual({
      revision: OLD.platformRevision,
      pendingRevision: NEW.platformRevision,
    });
    expect(upToDate).toMatchObject({ status: 'False', reason: 'RolloutPending', observedGeneration: 3 });
    expect({
      revision: before.status.revision,
      pendingRevision: before.status.pendingRevision,
      reason: before.upToDate?.reason,
    }).toEqual({ revision: OLD.platformRevision, pendingRevision: undefined, reason: 'UpToDate' });
  });

  it('a running runtime is repaired from its recorded template, not from its edited spec', async () => {
    const request = await settledRequest(userSwarm());
    const changed = observedDeployment(request) as Rendered;
    changed.spec.template.spec.containers[0].image = 'elsewhere.test/miner:1';
    expect((await renderWith(request)).image).toBe('registry.test/runtime:1');
  });

  it('a runtime gets the new template when it is suspended and when it resumes', async () => {
    const request = withSpec(await settledRequest(userSwarm()), { suspend: true });
    const { deployment, image } = await renderWith(request);
    expect({ replicas: deployment?.spec.replicas, image }).toEqual({ replicas: 0, image: 'registry.test/runtime:2' });
    const stopped = await settledRequest(userSwarm({ suspend: true }), { deployment: { observedGeneration: 1 } });
    const resumed = await renderWith(withSpec(stopped, {}));
    expect({ replicas: resumed.deployment?.spec.replicas, image: resumed.image }).toEqual({
      replicas: 1,
      image: 'registry.test/runtime:2',
    });
  });

  it('the rollout stays pending until the Deployment has the new template', async () => {
    const { status, upToDate } = await renderWith(withSpec(await settledRequest(userSwarm()), { suspend: true }));
    expect({ phase: status.phase, pendingRevision: status.pendingRevision }).toEqual({
      phase: 'Suspended',
      pendingRevision: NEW.platformRevision,
    });
    expect(upToDate?.status).toBe('False');
  });

  it('a running runtime gets the new template immediately if its spec changes', async () => {
    const request = await settledRequest(userSwarm());
    expect((await renderWith(withSpec(request, { config: { defaultModel: 'another' } }))).image).toBe(
      'registry.test/runtime:2',
    );
  });

  const rolloutGrant = (fields: Record<string, string>) => ({
    [ROLLOUT.revision]: NEW.platformRevision,
    [ROLLOUT.time]: '2030-01-01T00:00:05.500Z',
    ...fields,
  });
  const upToDate = (status: Condition['status'], seconds: number): Condition[] => [
    {
      type: 'UpToDate',
      status,
      reason: 'x',
      message: '',
      lastTransitionTime: `2030-01-01T00:00:0${seconds}Z`,
    },
  ];

  it.each([
    ['no grant keeps its template', {}, 1],
    ['a grant keeps its template until the orchestrator suspends it', rolloutGrant({}), 1],
    ['a forced grant gets the new template', rolloutGrant({ [ROLLOUT.forced]: 'true' }), 2],
    [
      'a forced grant for another revision keeps its template',
      rolloutGrant({ [ROLLOUT.revision]: 'r0', [ROLLOUT.forced]: 'true' }),
      1,
    ],
  ])('a running runtime with %s', async (_what, annotations, release) => {
    const request = annotated(await settledRequest(userSwarm(), { conditions: upToDate('False', 5) }), annotations);
    expect((await renderWith(request)).image).toBe(`registry.test/runtime:${release}`);
  });

  it.each([
    ['became up to date and is pending again', upToDate('True', 2)],
    ['has been pending since after the grant', upToDate('False', 6)],
  ])('an earlier forced grant has no effect if the runtime %s for that revision', async (_what, conditions) => {
    const request = annotated(
      await settledRequest(userSwarm(), { conditions }),
      rolloutGrant({ [ROLLOUT.forced]: 'true' }),
    );
    expect((await renderWith(request)).image).toBe('registry.test/runtime:1');
  });

  it('a runtime that fails to start is replaced; one that is starting or only lost readiness is not', async () => {
    const imageWith = async (world: Parameters<typeof settledRequest>[1]) =>
      (await renderWith(await settledRequest(userSwarm(), world))).image;
    const backOff = pod({ state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } } });
    const late = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
    expect(await imageWith({ deployment: NOT_READY, pods: [backOff] })).toBe('registry.test/runtime:2');
    expect(await imageWith({ deployment: { ...NOT_READY, conditions: late } })).toBe('registry.test/runtime:2');
    expect(await imageWith({ deployment: NOT_READY, pods: [pod({ state: { running: {} } })] })).toBe(
      'registry.test/runtime:1',
    );
    expect(await imageWith({ deployment: NOT_READY })).toBe('registry.test/runtime:1');
    // A terminating pod is observed beside the ready one.
    expect(await imageWith({ pods: [backOff] })).toBe('registry.test/runtime:1');
  });

  it('a running runtime is replaced immediately if the controller has no rollout gate', async () => {
    const { image, status } = await renderWith(await settledRequest(userSwarm()), { ...NEW, rolloutGate: false });
    expect({ image, phase: status.phase }).toEqual({ image: 'registry.test/runtime:2', phase: 'Progressing' });
  });
});

describe('a Deployment without complete revision annotations', () => {
  const edited = async (annotations: Record<string, string | undefined>): Promise<SyncRequest> => {
    const request = await settledRequest(userSwarm());
    const { metadata } = observedDeployment(request);
    const merged = Object.entries({ ...metadata.annotations, ...annotations });
    metadata.annotations = Object.fromEntries(
      merged.filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    return request;
  };

  it('a Deployment of a release without the rollout gate keeps its template and gets a spec revision', async () => {
    const request = await edited({ [PLATFORM_REVISION]: undefined, [SPEC_REVISION]: undefined, [TEMPLATE]: undefined });
    const { deployment, status, image } = await renderWith(request);
    const before = observedDeployment(request).metadata.annotations;
    expect(deployment?.metadata.annotations).toEqual({
      [REVISION]: before?.[REVISION],
      [SPEC_REVISION]: specRevision(request.parent.spec),
    });
    expect({ image, phase: status.phase }).toEqual({ image: 'registry.test/runtime:1', phase: 'Ready' });
    expect({ revision: status.revision, pendingRevision: status.pendingRevision }).toEqual({
      revision: undefined,
      pendingRevision: NEW.platformRevision,
    });
    const plain = await renderWith(await settledRequest(userSwarm()), OLD);
    expect(deployment?.spec).toEqual(plain.deployment?.spec);
  });

  it.each([
    ['invalid JSON', '{'],
    ['another template', '{"spec":{"containers":[{"name":"agent-runtime","image":"elsewhere.test/miner:1"}]}}'],
  ])('a Deployment whose template annotation is %s keeps its observed template', async (_what, text) => {
    expect((await renderWith(await edited({ [TEMPLATE]: text }))).image).toBe('registry.test/runtime:1');
  });

  it('a changed revision annotation is repaired if the platform revision is the same', async () => {
    const request = await edited({ [REVISION]: 'changed' });
    const { deployment, status } = await renderWith(request, OLD);
    expect(deployment?.metadata.annotations?.[REVISION]).not.toBe('changed');
    expect(status.pendingRevision).toBeUndefined();
  });

  it('a Deployment without any revision annotation gets the new template', async () => {
    const request = await edited({ [REVISION]: undefined, [PLATFORM_REVISION]: undefined });
    expect((await renderWith(request)).image).toBe('registry.test/runtime:2');
  });
});

describe('a runtime in the start queue', () => {
  const queued = (request: SyncRequest): SyncRequest => annotated(request, { [START]: START_QUEUED });

  it('a new runtime is Queued and has a ServiceAccount and a Service but no Deployment', async () => {
    const { deployment, status, ready } = await renderWith(queued(syncRequest(userSwarm())));
    expect(deployment).toBeUndefined();
    expect({ phase: status.phase, reason: ready?.reason }).toEqual({ phase: 'Progressing', reason: 'Queued' });
  });

  it('a queued runtime with a Deployment gets the new template and no pod', async () => {
    const stopped = await settledRequest(userSwarm({ suspend: true }));
    const { deployment, image, ready } = await renderWith(queued(withSpec(stopped, {})));
    expect({ replicas: deployment?.spec.replicas, image, reason: ready?.reason }).toEqual({
      replicas: 0,
      image: 'registry.test/runtime:2',
      reason: 'Queued',
    });
  });

  it('a runtime that is already running is not stopped by the queue', async () => {
    const { deployment, status } = await renderWith(queued(await settledRequest(userSwarm())), OLD);
    expect({ replicas: deployment?.spec.replicas, phase: status.phase }).toEqual({ replicas: 1, phase: 'Ready' });
  });

  it('a suspended runtime is Suspended, not Queued', async () => {
    const request = withSpec(await settledRequest(userSwarm({ suspend: true })), { suspend: true });
    expect((await renderWith(queued(request))).status.phase).toBe('Suspended');
  });
});
