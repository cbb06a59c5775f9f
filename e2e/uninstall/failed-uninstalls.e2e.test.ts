import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import {
  deployEdge,
  imageOf,
  installRelease,
  NAMESPACE,
  openSession,
  RELEASE,
  type Session,
  templateRelease,
  uninstallRelease,
} from '../support/index.js';
import { waitForEdge } from '../support/changed-release.js';
import { waitForCurrentLeader } from '../support/leader.js';
import { openTestUsers } from '../support/test-users.js';
import { AWAKE, DRAIN_FLAG as FLAG, READY_MS } from './settings.js';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

const edge = (): Promise<void> => deployEdge(session, imageOf(session.settings.images, 'edge'));

describe('a release with a failing webhook and ten UserSwarms', () => {
  let names: string[];
  let said: string;

  beforeAll(async () => {
    // The built-in database again, with only this test's workspaces.
    await uninstallRelease(session);
    await installRelease(session, { ...AWAKE, drain: { graceSeconds: 10 } });
    names = await Promise.all(Array.from({ length: 10 }, () => session.create()));
    await Promise.all(names.map((name) => session.shows(name, 'Ready', 'Available', READY_MS)));
    const webhook = ['-n', NAMESPACE.release, 'deployment/uswarm-webhook'];
    await session.tools.kubectl(['scale', ...webhook, '--replicas=0']);
    const pods = '--selector=app.kubernetes.io/component=webhook';
    await session.tools.kubectl(['wait', '--for=delete', 'pod', '-n', NAMESPACE.release, pods, '--timeout=60s'], {
      timeoutMs: 70_000,
    });
  });

  it('is uninstalled although the drain is killed during its work', async () => {
    const uninstalling = uninstallRelease(session);
    const labelSelector = 'batch.kubernetes.io/job-name=uswarm-drain';
    const pod = await eventually(
      async () => {
        const [found] = await session.api.list('Pod', { namespace: NAMESPACE.release, labelSelector });
        return found?.status?.phase === 'Running' ? found : undefined;
      },
      { description: 'a drain that runs', timeoutMs: 60_000, intervalMs: 100 },
    );
    await session.swarms.until(names[0]!, 'terminating', (swarm) => !!swarm?.metadata.deletionTimestamp, 30_000);
    await session.api.delete('Pod', { name: pod.metadata!.name!, namespace: NAMESPACE.release });
    said = await uninstalling;
    expect(said).toContain('the controller or its webhook is down');
  });

  it('leaves no UserSwarm, child or pod', async () => {
    expect(await session.api.list('UserSwarm')).toEqual([]);
    const namespace = NAMESPACE.runtime;
    const children = await Promise.all([
      session.api.list('Deployment', { namespace }),
      session.api.list('Service', { namespace }),
      session.api.list('Pod', { namespace }),
    ]);
    expect(children.flat().map(({ metadata }) => metadata?.name)).toEqual([]);
  });

  it('can be installed again with the same values', async () => {
    await installRelease(session);
    await edge();
    const name = await session.create();
    expect((await session.ready(name)).status?.phase).toBe('Ready');
  });

  it('has a leader that did not wait for the Lease of the uninstalled release', async () => {
    const leader = await waitForCurrentLeader(session.api);
    const { spec } = await session.api.get('Lease', { name: 'uswarm-controller', namespace: NAMESPACE.release });
    // A Lease with another holder before has a transition.
    expect(spec).toMatchObject({ holderIdentity: leader, leaseTransitions: 0 });
  });
});

describe('an uninstallation that fails', () => {
  it('can be reverted: the drain flag is removed, and workspaces get their runtimes again', async () => {
    const users = await openTestUsers(session);
    const user = await users.signUp();
    const { swarm } = user;
    const before = await session.ready(swarm);
    const { helm } = session.tools;
    const release = [RELEASE, '-n', NAMESPACE.release];
    // A foreign finalizer blocks the drain for longer than the timeout of helm.
    const finalizers = [...(before.metadata.finalizers ?? []), 'e2e.uswarm.dev/hold'];
    await session.api.merge('UserSwarm', { name: swarm }, { metadata: { finalizers } });
    const { code } = await helm(['uninstall', ...release, '--timeout', '20s'], { mayFail: true });
    expect(code).not.toBe(0);
    await session.api.merge('UserSwarm', { name: swarm }, { metadata: { finalizers: null } });
    await session.deleted(swarm);
    const { stdout } = await helm(['history', ...release, '-o', 'json']);
    const revisions = JSON.parse(stdout) as { revision: number; status: string }[];
    const { revision, status } = revisions.at(-1)!;
    expect(status).toBe('uninstalling');
    await helm(['rollback', RELEASE, String(revision), ...release.slice(1), '--wait', '--timeout', '3m'], {
      timeoutMs: 200_000,
    });
    expect(await session.api.find('ConfigMap', FLAG)).toBeUndefined();
    const again = await session.ready(swarm);
    expect(again.metadata.uid).not.toBe(before.metadata.uid);
    await edge();
    await waitForEdge(session);
    await users.deleteAccount(user);
    await session.deleted(swarm);
  });
});

describe('a release that Argo CD deletes without Helm', () => {
  const cleanup = ['-n', NAMESPACE.release, 'job/uswarm-cleanup'];
  let hooks: string;
  let names: string[];

  const kubectl = (args: readonly string[], input?: string) =>
    session.tools.kubectl(args, { timeoutMs: 300_000, ...(input === undefined ? {} : { input }) });
  /** Applies the hooks and waits for their Job. @returns its log */
  async function runHooks(): Promise<string> {
    await kubectl(['apply', '-f', '-'], hooks);
    await kubectl(['wait', '--for=condition=Complete', ...cleanup, '--timeout=280s']);
    return (await kubectl(['logs', ...cleanup])).stdout;
  }

  beforeAll(async () => {
    const documents = (await templateRelease(session, { drain: { hooks: 'argocd' } })).split(/^---$/m);
    hooks = documents.filter((document) => document.includes('argocd.argoproj.io/hook: PostDelete')).join('---');
    names = await Promise.all(Array.from({ length: 3 }, () => session.create()));
    await Promise.all(names.map((name) => session.ready(name)));
  });
  afterAll(async () => {
    await installRelease(session);
    await edge();
  });

  it('keeps its UserSwarms when the hooks are applied while it is installed', async () => {
    expect(await runHooks()).toContain('Nothing was removed: Deployment backend/uswarm-orchestrator exists');
    await kubectl(['delete', '-f', '-'], hooks);
    for (const name of names) {
      const swarm = await session.api.find('UserSwarm', { name });
      expect(swarm?.metadata?.deletionTimestamp).toBeUndefined();
    }
  });

  it('leaves no UserSwarm, finalizer or pod after the hooks', async () => {
    await session.tools.helm(['uninstall', RELEASE, '-n', NAMESPACE.release, '--no-hooks', '--wait'], {
      timeoutMs: 330_000,
    });
    expect(await session.api.list('UserSwarm')).not.toEqual([]);
    expect(await runHooks()).toContain('No UserSwarm has a uswarm finalizer.');
    expect(await session.api.list('UserSwarm')).toEqual([]);
    const namespace = NAMESPACE.runtime;
    await eventually(
      async () => {
        const left = await Promise.all([
          session.api.list('Deployment', { namespace }),
          session.api.list('Pod', { namespace }),
        ]);
        return left.flat().length === 0;
      },
      { description: 'no child is left', timeoutMs: 60_000 },
    );
    await kubectl(['delete', '-f', '-'], hooks);
  });
});
