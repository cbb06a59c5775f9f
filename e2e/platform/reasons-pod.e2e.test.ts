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
} from '../src/index.js';

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

interface Trouble {
  reason: FailureReason;
  cause: string;
  spec: (name: string) => SpecInput;
  prepare?: (name: string) => Promise<unknown>;
  /** What the kubelet or the scheduler writes into the pod. */
  event: (pod: Pod) => boolean;
  says: RegExp;
  repair: (name: string) => Promise<unknown>;
}

const ownSecret = (name: string) => ({ name: `${name}-env`, namespace: NAMESPACE.runtime });
const namingOwnSecret = (name: string): SpecInput => ({ config: { envSecretRef: { name: `${name}-env` } } });
async function createOwnSecret(name: string, stringData: Record<string, string>): Promise<void> {
  await session.api.create('Secret', { metadata: ownSecret(name), stringData });
  session.onClose(() => session.api.delete('Secret', ownSecret(name)));
}

const TROUBLES: Trouble[] = [
  {
    reason: 'ImagePullBackOff',
    cause: 'an image that is allowed and does not exist',
    spec: () => ({ runtime: { image: 'localhost/uswarm/absent:1' } }),
    event: (pod) => ['ErrImagePull', 'ImagePullBackOff'].includes(waitingFor(pod) ?? ''),
    says: /localhost\/uswarm\/absent:1 cannot be pulled/,
    repair: (name) => session.patch(name, { runtime: { image: '' } }),
  },
  {
    reason: 'CrashLoopBackOff',
    cause: 'a setting with which the runtime does not start',
    spec: namingOwnSecret,
    prepare: (name) => createOwnSecret(name, { USWARM_MODEL_TIMEOUT_MS: 'soon' }),
    event: (pod) => waitingFor(pod) === 'CrashLoopBackOff',
    says: /keeps stopping, last with exit code \d+/,
    repair: (name) =>
      session.api.merge('Secret', ownSecret(name), { stringData: { USWARM_MODEL_TIMEOUT_MS: '60000' } }),
  },
  {
    reason: 'OOMKilled',
    cause: 'less memory than the runtime needs',
    spec: () => ({ runtime: { resources: { requests: { memory: '16Mi' }, limits: { memory: '16Mi' } } } }),
    event: (pod) => ends(pod).includes('OOMKilled'),
    says: /more memory than its limit/,
    repair: (name) =>
      session.patch(name, { runtime: { resources: { requests: { memory: '96Mi' }, limits: { memory: '512Mi' } } } }),
  },
  {
    reason: 'Unschedulable',
    cause: 'more CPU than any node has',
    spec: () => ({ runtime: { resources: { requests: { cpu: '1000' } } } }),
    event: ({ status }) =>
      status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false,
    says: /Insufficient cpu/,
    repair: (name) => session.patch(name, { runtime: { resources: { requests: { cpu: '10m' } } } }),
  },
  {
    reason: 'SecretMissing',
    cause: 'a Secret that does not exist yet',
    spec: namingOwnSecret,
    event: (pod) => waitingFor(pod) === 'CreateContainerConfigError',
    says: /The Secret workspace-\S+-env does not exist/,
    repair: (name) => createOwnSecret(name, { E2E: 'here' }),
  },
];

// Concurrently: each of them mostly waits.
describe('PHASE-002 CTRL-003: a UserSwarm whose pod does not come up', () => {
  const outcomes = new Map<FailureReason, Promise<{ message: string; name: string }>>();
  const troubled = async ({ event, prepare, reason, repair, spec }: Trouble) => {
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
    for (const trouble of TROUBLES) {
      const outcome = troubled(trouble);
      // Judged by its own test below.
      outcome.catch(() => undefined);
      outcomes.set(trouble.reason, outcome);
    }
  });

  it.each(TROUBLES)('$reason: $cause shows as Progressing with this reason, and recovers', async ({ reason, says }) => {
    const { message, name } = await outcomes.get(reason)!;
    expect(message).toMatch(says);
    const fieldSelector = `involvedObject.name=${name},reason=${reason}`;
    const events = await session.api.list('Event', { namespace: 'default', fieldSelector });
    expect(events.map(({ type }) => type)).toContain('Warning');
  });
});
