import { describe, expect, it } from '@jest/globals';
import {
  type Condition,
  type KubernetesObject,
  ROLLOUT,
  START,
  START_QUEUED,
  type SyncRequest,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import { ownChildren } from '../../test/arbitraries.js';
import { pod, settledRequest, syncRequest, testFacts, testSettings, userSwarm } from '../../test/webhook-input.js';
import { render } from './render.js';
import { PLATFORM_REVISION, REVISION, SPEC_REVISION, specRevision, TEMPLATE } from './revision.js';
import type { RenderSettings } from './settings.js';

/** The release that what runs was rendered with, and the one after it. */
const OLD = testSettings();
const NEW = testSettings({ image: 'registry.test/runtime:2' });
const NOT_READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 };

interface Rendered extends KubernetesObject {
  spec: { replicas: number; template: { spec: { containers: [{ image: string }] } } };
}

async function answerTo(request: SyncRequest, settings: RenderSettings = NEW) {
  const answer = render(request, settings, await testFacts());
  const status = answer.status as UserSwarmStatus;
  const deployment = (answer.children as unknown as Rendered[]).find(({ kind }) => kind === 'Deployment');
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

describe('a runtime that runs while the platform has another revision', () => {
  it('is rendered as it was, is Ready, and says what it waits for', async () => {
    const request = await settledRequest(userSwarm());
    const { status, deployment, ready, upToDate } = await answerTo(request);
    const before = await answerTo(request, OLD);
    expect(deployment).toEqual(before.deployment);
    expect([status.phase, status.image, ready?.reason]).toEqual(['Ready', 'registry.test/runtime:1', 'Available']);
    expect([status.revision, status.pendingRevision]).toEqual([OLD.platformRevision, NEW.platformRevision]);
    expect(upToDate).toMatchObject({ status: 'False', reason: 'RolloutPending', observedGeneration: 3 });
    expect([before.status.revision, before.status.pendingRevision, before.upToDate?.reason]).toEqual([
      OLD.platformRevision,
      undefined,
      'UpToDate',
    ]);
  });

  it('is put right by what it was, not by what somebody made of it', async () => {
    const request = await settledRequest(userSwarm());
    const changed = observedDeployment(request) as Rendered;
    changed.spec.template.spec.containers[0].image = 'elsewhere.test/miner:1';
    expect((await answerTo(request)).image).toBe('registry.test/runtime:1');
  });

  it('gets the new template when it is suspended, and when it resumes', async () => {
    const request = withSpec(await settledRequest(userSwarm()), { suspend: true });
    const { deployment, image } = await answerTo(request);
    expect([deployment?.spec.replicas, image]).toEqual([0, 'registry.test/runtime:2']);
    const stopped = await settledRequest(userSwarm({ suspend: true }), { deployment: { observedGeneration: 1 } });
    const resumed = await answerTo(withSpec(stopped, {}));
    expect([resumed.deployment?.spec.replicas, resumed.image]).toEqual([1, 'registry.test/runtime:2']);
  });

  it('waits until the Deployment has the new template, not only until it is rendered', async () => {
    const { status, upToDate } = await answerTo(withSpec(await settledRequest(userSwarm()), { suspend: true }));
    expect([status.phase, status.pendingRevision]).toEqual(['Suspended', NEW.platformRevision]);
    expect(upToDate?.status).toBe('False');
  });

  it('gets the new template at once where its author changes the specification', async () => {
    const request = await settledRequest(userSwarm());
    expect((await answerTo(withSpec(request, { config: { defaultModel: 'another' } }))).image).toBe(
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
    ['no go-ahead', {}, 1],
    ['the go-ahead alone: its orchestrator suspends it', rolloutGrant({}), 1],
    ['one that is forced', rolloutGrant({ [ROLLOUT.forced]: 'true' }), 2],
    [
      'one that was forced for another revision',
      rolloutGrant({ [ROLLOUT.revision]: 'r0', [ROLLOUT.forced]: 'true' }),
      1,
    ],
  ])('with %s', async (_what, annotations, release) => {
    const request = annotated(await settledRequest(userSwarm(), { conditions: upToDate('False', 5) }), annotations);
    expect((await answerTo(request)).image).toBe(`registry.test/runtime:${release}`);
  });

  it.each([
    ['begins to wait again', upToDate('True', 2)],
    ['waits again', upToDate('False', 6)],
  ])('is not forced by what was forced before, where it %s for that revision', async (_what, conditions) => {
    const request = annotated(
      await settledRequest(userSwarm(), { conditions }),
      rolloutGrant({ [ROLLOUT.forced]: 'true' }),
    );
    expect((await answerTo(request)).image).toBe('registry.test/runtime:1');
  });

  it('is replaced where it does not come up, and not where it starts or only lost its readiness', async () => {
    const imageWith = async (world: Parameters<typeof settledRequest>[1]) =>
      (await answerTo(await settledRequest(userSwarm(), world))).image;
    const backOff = pod({ state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } } });
    const late = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
    expect(await imageWith({ deployment: NOT_READY, pods: [backOff] })).toBe('registry.test/runtime:2');
    expect(await imageWith({ deployment: { ...NOT_READY, conditions: late } })).toBe('registry.test/runtime:2');
    expect(await imageWith({ deployment: NOT_READY, pods: [pod({ state: { running: {} } })] })).toBe(
      'registry.test/runtime:1',
    );
    expect(await imageWith({ deployment: NOT_READY })).toBe('registry.test/runtime:1');
    // A pod that goes is shown beside the one that answers.
    expect(await imageWith({ pods: [backOff] })).toBe('registry.test/runtime:1');
  });

  it('is replaced at once without a controller that gives go-aheads', async () => {
    const { image, status } = await answerTo(await settledRequest(userSwarm()), { ...NEW, rolloutGate: false });
    expect([image, status.phase]).toEqual(['registry.test/runtime:2', 'Progressing']);
  });
});

describe('a Deployment that does not say what it was', () => {
  const edited = async (annotations: Record<string, string | undefined>): Promise<SyncRequest> => {
    const request = await settledRequest(userSwarm());
    const { metadata } = observedDeployment(request);
    const merged = Object.entries({ ...metadata.annotations, ...annotations });
    metadata.annotations = Object.fromEntries(
      merged.filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    return request;
  };

  it('of a release without the gate keeps its template, and its specification is noted', async () => {
    const request = await edited({ [PLATFORM_REVISION]: undefined, [SPEC_REVISION]: undefined, [TEMPLATE]: undefined });
    const { deployment, status, image } = await answerTo(request);
    const before = observedDeployment(request).metadata.annotations;
    expect(deployment?.metadata.annotations).toEqual({
      [REVISION]: before?.[REVISION],
      [SPEC_REVISION]: specRevision(request.parent.spec),
    });
    expect([image, status.phase]).toEqual(['registry.test/runtime:1', 'Ready']);
    expect([status.revision, status.pendingRevision]).toEqual([undefined, NEW.platformRevision]);
    const plain = await answerTo(await settledRequest(userSwarm()), OLD);
    expect(deployment?.spec).toEqual(plain.deployment?.spec);
  });

  it.each([
    ['no JSON', '{'],
    ['another template', '{"spec":{"containers":[{"name":"agent-runtime","image":"elsewhere.test/miner:1"}]}}'],
  ])('and has %s in its identity keeps the template that it has', async (_what, text) => {
    expect((await answerTo(await edited({ [TEMPLATE]: text }))).image).toBe('registry.test/runtime:1');
  });

  it('is put right where the platform is the same', async () => {
    const request = await edited({ [REVISION]: 'changed' });
    const { deployment, status } = await answerTo(request, OLD);
    expect(deployment?.metadata.annotations?.[REVISION]).not.toBe('changed');
    expect(status.pendingRevision).toBeUndefined();
  });

  it('is no hold for one whose marks are all gone', async () => {
    const request = await edited({ [REVISION]: undefined, [PLATFORM_REVISION]: undefined });
    expect((await answerTo(request)).image).toBe('registry.test/runtime:2');
  });
});

describe('a runtime that may not start yet', () => {
  const queued = (request: SyncRequest): SyncRequest => annotated(request, { [START]: START_QUEUED });

  it('is Queued, with a ServiceAccount and a Service and no Deployment', async () => {
    const { deployment, status, ready } = await answerTo(queued(syncRequest(userSwarm())));
    expect(deployment).toBeUndefined();
    expect([status.phase, ready?.reason]).toEqual(['Progressing', 'Queued']);
  });

  it('stays without a pod where it has a Deployment, which gets the new template', async () => {
    const stopped = await settledRequest(userSwarm({ suspend: true }));
    const { deployment, image, ready } = await answerTo(queued(withSpec(stopped, {})));
    expect([deployment?.spec.replicas, image, ready?.reason]).toEqual([0, 'registry.test/runtime:2', 'Queued']);
  });

  it('goes on where it runs', async () => {
    const { deployment, status } = await answerTo(queued(await settledRequest(userSwarm())), OLD);
    expect([deployment?.spec.replicas, status.phase]).toEqual([1, 'Ready']);
  });

  it('is Suspended where it is not to run', async () => {
    const request = withSpec(await settledRequest(userSwarm({ suspend: true })), { suspend: true });
    expect((await answerTo(queued(request))).status.phase).toBe('Suspended');
  });
});
