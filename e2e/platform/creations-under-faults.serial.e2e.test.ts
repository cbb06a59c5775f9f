import { mkdir, appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName, LABEL, type UserSwarm } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type AuditMark,
  conditionOf,
  NAMESPACE,
  openAuditLog,
  openSession,
  type Session,
  showRequest,
} from '../support/index.js';
import { changeRelease } from '../support/changed-release.js';
import { type TestAccount, createTestAccounts } from '../support/test-accounts.js';
import { openContainerKiller } from '../support/container-killer.js';
import { type CrashFault, crashFaults, type CrashTarget, CRASH_TARGETS } from '../support/crash-faults.js';

const ACCOUNTS = 4;
const WORKSPACES = 5;
const ALL = ACCOUNTS * WORKSPACES;
const FEWEST = 5;
const MOST = 15;
/** Attempts until a fault falls into the window. */
const TRIES = 3;
/** Milliseconds until all are Ready, including the recovery of a Lease and of the API server. */
const RECOVERED_WITHIN_MS = 180_000;

let session: Session;
let faults: Record<CrashTarget, CrashFault>;
let report: string;
beforeAll(async () => {
  session = await openSession();
  // Two controllers, and no runtime is suspended while the test waits for others.
  await changeRelease(session, { controller: { replicas: 2 }, runtime: { idleSuspendAfterSeconds: 3_600 } });
  faults = crashFaults(session, await openContainerKiller(session));
  report = path.join(session.settings.artifacts, 'creations-under-faults.txt');
  await mkdir(session.settings.artifacts, { recursive: true });
  await writeFile(report, '');
});
afterAll(() => session?.close());

const phaseOf = (name: string): string | undefined => session.swarms.current(name)?.status?.phase;
const readyOf = (names: readonly string[]): number => names.filter((name) => phaseOf(name) === 'Ready').length;

interface Round {
  accounts: TestAccount[];
  names: string[];
  since: AuditMark;
  /** Ready ones right before and right after. */
  ready: [before: number, after: number];
  seconds: { untilReady: number; untilReplaced: number };
}

/** Creates half of them; when enough of these are Ready, creates the other half and immediately injects the fault. */
async function runRound(inject: CrashFault): Promise<Round> {
  const audit = auditLog();
  const since = (await audit?.mark()) ?? 0;
  const accounts = await createTestAccounts(session, ACCOUNTS);
  const signUpAll = async (some: TestAccount[]): Promise<string[]> =>
    (await Promise.all(some.map((account) => account.signUp(WORKSPACES)))).flat();
  const first = await signUpAll(accounts.slice(0, ACCOUNTS / 2));
  await eventually(async () => readyOf(first) >= FEWEST, {
    description: `${FEWEST} are Ready`,
    timeoutMs: 120_000,
    intervalMs: 100,
  });
  const names = [...first, ...(await signUpAll(accounts.slice(ACCOUNTS / 2)))];
  const before = readyOf(names);
  const killed = performance.now();
  const replaced = await inject();
  const after = readyOf(names);
  const seconds = (): number => (performance.now() - killed) / 1_000;
  const times = await Promise.all([
    Promise.all(names.map((name) => session.shows(name, 'Ready', 'Available', RECOVERED_WITHIN_MS))).then(seconds),
    replaced().then(seconds),
  ]);
  return {
    accounts,
    names,
    since,
    ready: [before, after],
    seconds: { untilReady: times[0], untilReplaced: times[1] },
  };
}

const auditLog = () => (session.settings.auditLog === undefined ? undefined : openAuditLog(session.settings.auditLog));

/** A workspace's current objects. */
async function objectsOf(name: string): Promise<Record<string, number>> {
  const selection = { namespace: NAMESPACE.runtime, labelSelector: `${LABEL.instance}=${name}` };
  const counts = (['ServiceAccount', 'Service', 'Deployment', 'ReplicaSet', 'Pod'] as const).map(
    async (kind) => [kind, (await session.api.list(kind, selection)).length] as const,
  );
  return Object.fromEntries(await Promise.all(counts));
}

/** Objects that were created more than once, from the audit log. */
async function createdTwice({ names, since }: Round): Promise<string[]> {
  const ours = new Set(names.flatMap((name) => [name, childName(name)]));
  const writes = (await auditLog()?.writesSince(since)) ?? [];
  const created = writes
    .filter(({ name, resource, status }) => status === 201 && ours.has(name ?? '') && !resource.includes('/'))
    .map(showRequest);
  return created.filter((request, at) => created.indexOf(request) !== at);
}

async function deleteAll({ accounts, names }: Pick<Round, 'accounts' | 'names'>): Promise<void> {
  await Promise.all(accounts.map((account) => account.deleteAccount()));
  await Promise.all(names.map((name) => session.deleted(name)));
  await eventually(
    async () => {
      const pods = await session.api.list('Pod', { namespace: NAMESPACE.runtime });
      const left = pods.filter(({ metadata }) => names.includes(metadata?.labels?.[LABEL.instance] ?? ''));
      if (left.length > 0) throw new Error(`${left.length} pods`);
      return true;
    },
    { description: 'nothing is left of them', timeoutMs: 60_000 },
  );
}

/** A round whose fault fell while 5 to 15 were Ready; other rounds are cleaned up and repeated. */
async function roundWithFault(target: CrashTarget): Promise<Round> {
  for (let tries = 1; ; tries += 1) {
    const round = await runRound(faults[target]);
    const inWindow = round.ready.every((count) => count >= FEWEST && count <= MOST);
    const { untilReady, untilReplaced } = round.seconds;
    await appendFile(
      report,
      `${target}: ${round.ready.join(' to ')} of ${ALL} Ready when killed; replaced after ${untilReplaced.toFixed(1)} s, all Ready after ${untilReady.toFixed(1)} s\n`,
    );
    if (inWindow) return round;
    await deleteAll(round);
    if (tries === TRIES) throw new Error(`the fault missed ${TRIES} times, last at ${round.ready.join(' to ')} Ready`);
  }
}

describe(`${ALL} creations, while 5 to 15 of them are Ready`, () => {
  it.each(CRASH_TARGETS)(
    'survive a crash of %s: all become Ready, without duplicates or stuck ones',
    async (target) => {
      const round = await roundWithFault(target);
      const { names, accounts } = round;
      expect(new Set(names).size).toBe(ALL);

      const shown = await Promise.all(
        accounts.map((account) =>
          eventually(
            async () => {
              const runtimes = (await account.workspaces()).map(({ runtime }) => runtime);
              const waiting = runtimes.filter(({ status, verified }) => status !== 'ready' || !verified);
              if (waiting.length > 0) throw new Error(JSON.stringify(waiting));
              return runtimes.length;
            },
            { description: 'their runtimes are shown as ready', timeoutMs: 60_000 },
          ),
        ),
      );
      expect(shown).toEqual(accounts.map(() => WORKSPACES));

      // A UserSwarm that was Ready and due during the webhook outage may not have been synced again.
      const isSynced = (swarm?: UserSwarm): boolean =>
        swarm !== undefined && conditionOf(swarm, 'Synced')?.status === 'True';
      await Promise.all(names.map((name) => session.swarms.until(name, 'synced', isSynced, 60_000)));

      const owners = new Set(names.map((name) => session.swarms.current(name)?.spec.userId));
      const swarms = (await session.api.list('UserSwarm')).filter(({ spec }) => owners.has(spec.userId));
      expect(swarms.map(({ metadata }) => metadata.name).toSorted()).toEqual(names.toSorted());
      for (const swarm of swarms) {
        expect(swarm.metadata.generation).toBe(1);
        expect(conditionOf(swarm, 'Synced')?.status).toBe('True');
      }
      for (const name of names) {
        expect(await objectsOf(name)).toEqual({ ServiceAccount: 1, Service: 1, Deployment: 1, ReplicaSet: 1, Pod: 1 });
        const { deployment } = await session.children(name);
        expect(deployment?.metadata?.generation).toBe(1);
      }
      expect(await createdTwice(round)).toEqual([]);
      await deleteAll(round);
    },
  );
});
