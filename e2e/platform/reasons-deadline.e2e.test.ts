import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { messageOf, openSession, type Session } from '../support/index.js';
import { gatePods } from '../support/pod-gate.js';

const NAMESPACE_OF_THIS_FILE = 'e2e-deadline';
/** The Deployment's `progressDeadlineSeconds`. */
const START_DEADLINE_MS = 300_000;
const DEADLINE_PASSED = '--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=ProgressDeadlineExceeded';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

it('CTRL-003: reports StartDeadlineExceeded for a pod that does not start without a known cause, until it starts', async () => {
  // Simulates a pod queue: the pod is admitted but not scheduled.
  const gate = await gatePods(session, NAMESPACE_OF_THIS_FILE);
  const name = await session.create({ placement: { runtimeNamespace: NAMESPACE_OF_THIS_FILE } });
  const place = { name: `agent-runtime-${name}`, namespace: NAMESPACE_OF_THIS_FILE };
  const { object: pod } = await session.pod(name, 'held', ({ spec }) => (spec?.schedulingGates ?? []).length > 0);
  await session.shows(name, 'Progressing', 'Starting');
  await session.tools.kubectl(
    [
      'wait',
      '-n',
      place.namespace,
      `deployment/${place.name}`,
      DEADLINE_PASSED,
      `--timeout=${START_DEADLINE_MS / 1000 + 60}s`,
    ],
    { timeoutMs: START_DEADLINE_MS + 70_000 },
  );
  const late = await session.shows(name, 'Progressing', 'StartDeadlineExceeded');
  expect(messageOf(late)).toMatch(/did not become ready in time/);
  await gate.open();
  await session.api.merge(
    'Pod',
    { name: pod!.metadata!.name!, namespace: place.namespace },
    { spec: { schedulingGates: null } },
  );
  await session.ready(name);
});
