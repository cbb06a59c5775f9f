import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FailureReason } from '@uswarm/contract/userswarm';
import {
  type Kinds,
  messageOf,
  NAMESPACE,
  openSession,
  READY_WITHIN_MS,
  type Session,
  SHOWN_WITHIN_MS,
  shows,
  type SpecInput,
} from '../support/index.js';

type Pod = Kinds['Pod'];

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const waitingFor = (pod: Pod): string | undefined => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason;
const ends = ({ status }: Pod): (string | undefined)[] =>
  [status?.containerStatuses?.[0]?.state, status?.containerStatuses?.[0]?.lastState].map(
    (state) => state?.terminated?.reason,
  );

interface FailureCase {
  reason: FailureReason;
  cause: string;
  spec: (name: string) => SpecInput;
  prepare?: (name: string) => Promise<unknown>;
  /** Matches the pod when the kubelet or the scheduler has written the cause. */
  event: (pod: Pod) => boolean;
  messagePattern: RegExp;
  repair: (name: string) => Promise<unknown>;
}

const ownSecret = (name: string) => ({ name: `${name}-env`, namespace: NAMESPACE.runtime });
const namingOwnSecret = (name: string): SpecInput => ({ config: { envSecretRef: { name: `${name}-env` } } });
async function createOwnSecret(name: string, stringData: Record<string, string>): Promise<void> {
  await session.api.create('Secret', { metadata: ownSecret(name), stringData });
  session.onClose(() => session.api.delete('Secret', ownSecret(name)));
}

const FAILURE_CASES: FailureCase[] = [
  {
    reason: 'ImagePullBackOff',
    cause: 'an allowed image that does not exist',
    spec: () => ({ runtime: { image: 'localhost/uswarm/absent:1' } }),
    event: (pod) => ['ErrImagePull', 'ImagePullBackOff'].includes(waitingFor(pod) ?? ''),
    messagePattern: /localhost\/uswarm\/absent:1 cannot be pulled/,
    repair: (name) => session.patch(name, { runtime: { image: '' } }),
  },
  {
    reason: 'CrashLoopBackOff',
    cause: 'an invalid setting',
    spec: namingOwnSecret,
    prepare: (name) => createOwnSecret(name, { USWARM_MODEL_TIMEOUT_MS: 'soon' }),
    event: (pod) => waitingFor(pod) === 'CrashLoopBackOff',
    messagePattern: /keeps stopping, last with exit code \d+/,
    repair: (name) =>
      session.api.merge('Secret', ownSecret(name), { stringData: { USWARM_MODEL_TIMEOUT_MS: '60000' } }),
  },
  {
    reason: 'OOMKilled',
    cause: 'less memory than the runtime needs',
    spec: () => ({ runtime: { resources: { requests: { memory: '16Mi' }, limits: { memory: '16Mi' } } } }),
    event: (pod) => ends(pod).includes('OOMKilled'),
    messagePattern: /more memory than its limit/,
    repair: (name) =>
      session.patch(name, { runtime: { resources: { requests: { memory: '96Mi' }, limits: { memory: '512Mi' } } } }),
  },
  {
    reason: 'Unschedulable',
    cause: 'more CPU than any node has',
    spec: () => ({ runtime: { resources: { requests: { cpu: '1000' } } } }),
    event: ({ status }) =>
      status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false,
    messagePattern: /Insufficient cpu/,
    repair: (name) => session.patch(name, { runtime: { resources: { requests: { cpu: '10m' } } } }),
  },
  {
    reason: 'SecretMissing',
    cause: 'a Secret that does not exist yet',
    spec: namingOwnSecret,
    event: (pod) => waitingFor(pod) === 'CreateContainerConfigError',
    messagePattern: /The Secret workspace-\S+-env does not exist/,
    repair: (name) => createOwnSecret(name, { E2E: 'here' }),
  },
];

// The cases run concurrently, because they mostly wait.
describe('PHASE-002 CTRL-003: a UserSwarm whose pod does not start', () => {
  const outcomes = new Map<FailureReason, Promise<{ message: string; name: string }>>();
  const observeFailure = async ({ event, prepare, reason, repair, spec }: FailureCase) => {
    const name = session.newName();
    await prepare?.(name);
    await session.create(spec(name), name);
    await session.pod(name, `showing the cause of ${reason}`, event, 60_000);
    const { object } = await session.swarms.until(
      name,
      `shows ${reason}`,
      shows('Progressing', reason),
      SHOWN_WITHIN_MS,
    );
    await repair(name);
    await session.shows(name, 'Ready', 'Available', 2 * READY_WITHIN_MS);
    return { message: messageOf(object!), name };
  };
  beforeAll(() => {
    for (const failureCase of FAILURE_CASES) {
      const outcome = observeFailure(failureCase);
      // The case's own test reports the error.
      outcome.catch(() => undefined);
      outcomes.set(failureCase.reason, outcome);
    }
  });

  it.each(FAILURE_CASES)(
    'is Progressing with the reason $reason for $cause, and recovers',
    async ({ reason, messagePattern }) => {
      const { message, name } = await outcomes.get(reason)!;
      expect(message).toMatch(messagePattern);
      const fieldSelector = `involvedObject.name=${name},reason=${reason}`;
      const events = await session.api.list('Event', { namespace: 'default', fieldSelector });
      expect(events.map(({ type }) => type)).toContain('Warning');
    },
  );
});
