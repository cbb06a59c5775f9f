import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REASON_ADVICE } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { NAMESPACE, openSession, type Session } from '../support/index.js';

const PROGRAM = path.resolve(import.meta.dirname, '../../packages/cli/dist/uswarmctl.js');
const run = promisify(execFile);

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

/** Runs with a kubeconfig only, without the orchestrator's URL and key. */
async function ctl(command: 'explain' | 'why', ...args: string[]): Promise<string> {
  const { context, kubeconfig } = session.settings;
  const { stdout } = await run(process.execPath, [PROGRAM, command, ...args, '--context', context], {
    env: { KUBECONFIG: kubeconfig },
    timeout: 30_000,
  });
  return stdout;
}
const explain = (...args: string[]): Promise<string> => ctl('explain', ...args);

describe('uswarmctl explain', () => {
  it('shows the cause and the fix for a runtime whose image does not exist', async () => {
    const name = await session.create({ runtime: { image: 'localhost/uswarm/absent:1' } });
    await session.shows(name, 'Progressing', 'ImagePullBackOff', 60_000);
    const text = await explain(name);
    const { cause, advice } = REASON_ADVICE.ImagePullBackOff;
    expect(text).toContain(`phase       Progressing (ImagePullBackOff)`);
    expect(text).toContain(`- ImagePullBackOff: ${cause} ${advice}`);
    expect(text).toMatch(/agent-runtime: (ErrImagePull|ImagePullBackOff).*, not ready, 0 restarts/);
    expect(text).toMatch(/Warning +ImagePullBackOff +UserSwarm /);
    expect(text).toMatch(/controller: backend\/uswarm-controller, 1 of 1 ready; leader uswarm-controller-\S+/);
    expect(text).toContain('webhook: backend/uswarm-webhook, 2 of 2 ready');
    expect(text).not.toContain('Unreadable');
  });

  it('names the field manager that suspends a runtime, by workspace id, also as JSON', async () => {
    const name = await session.create();
    await session.ready(name);
    await session.tools.kubectl(['patch', 'uswarm', name, '--type=merge', '-p', '{"spec":{"suspend":true}}']);
    await session.shows(name, 'Suspended', 'Suspended', 30_000);
    const report = await eventually(
      async () => {
        const found = JSON.parse(await explain(name.replace('workspace-', ''), '--json')) as Record<string, unknown>;
        return (found['pods'] as unknown[]).length === 0 ? found : undefined;
      },
      { description: 'a report without pods', timeoutMs: 30_000 },
    );
    expect(report).toMatchObject({
      name,
      phase: 'Suspended',
      suspended: { by: 'kubectl-patch', hold: true },
      unreadable: [],
      exhausted: [],
    });
    expect(report['next']).toContainEqual(expect.stringMatching(/^Held: "kubectl-patch"/));
  });

  it('reports in one sentence that the UserSwarm does not exist', async () => {
    await expect(explain(session.newName())).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^UserSwarm workspace-\S+ not found\. .*\n$/),
    });
  });
});

describe('uswarmctl why', () => {
  it('shows the log line of a runtime that crashes', async () => {
    const name = session.newName();
    const secret = { name: `${name}-env`, namespace: NAMESPACE.runtime };
    const stringData = { USWARM_MODEL_TIMEOUT_MS: 'soon' };
    await session.api.create('Secret', { metadata: secret, stringData });
    session.onClose(() => session.api.delete('Secret', secret));
    await session.create({ config: { envSecretRef: { name: secret.name } } }, name);
    await session.shows(name, 'Progressing', 'CrashLoopBackOff', 60_000);
    const { chain, next } = JSON.parse(await ctl('why', name, '--json')) as {
      chain: { kind: string; reason: string | null; message: string }[];
      next: { runbook: string };
    };
    expect(chain[0]).toMatchObject({ kind: 'condition', reason: 'CrashLoopBackOff' });
    expect(chain.map(({ kind }) => kind)).toContain('pod');
    expect(chain.at(-1)).toMatchObject({ kind: 'log', message: expect.stringContaining('USWARM_MODEL_TIMEOUT_MS') });
    expect(next.runbook).toBe('docs/runbooks/UswarmRuntimesStuckProgressing.md');
  });
});

describe('uswarmctl --port-forward', () => {
  /** The release has no operator, so the orchestrator itself refuses. */
  const REFUSED = /^The administration API is disabled/;
  const show = (namespace: string) => {
    const { context, kubeconfig } = session.settings;
    const line = ['workspace', 'show', crypto.randomUUID(), '--port-forward', namespace, '--context', context];
    return run(process.execPath, [PROGRAM, ...line], {
      env: { KUBECONFIG: kubeconfig, PATH: process.env['PATH'], USWARM_ADMIN_KEY: `olivia:${'a'.repeat(64)}` },
      timeout: 30_000,
    });
  };

  it('reaches the orchestrator with kubectl, which ends with the command', async () => {
    await expect(show(NAMESPACE.release)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(REFUSED) });
    await expect(run('pgrep', ['-f', 'kubectl.*port-forward.*:internal'])).rejects.toMatchObject({ code: 1 });
  });

  it('names the namespace that has no orchestrator', async () => {
    const stderr = 'No orchestrator in the namespace default.\n';
    await expect(show('default')).rejects.toMatchObject({ code: 1, stderr });
  });
});
