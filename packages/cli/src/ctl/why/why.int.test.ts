import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REASON_ADVICE } from '@uswarm/contract/userswarm';
import { describeWithKubeApi, type KubeApiServer, kubePrograms, startKubeApiServer } from '@uswarm/testkit/kube-api';
import { brokenRuntimes, type BrokenRuntimes, CRASHED, PULLING } from '../../../test/broken-runtimes.js';
import { why } from './why.js';

const CRD = path.resolve(import.meta.dirname, '../../../../../crds/userswarms.uswarm.dev.yaml');
const START_MS = 180_000;

describeWithKubeApi('uswarmctl why, with a kube-apiserver', (image) => {
  let api: KubeApiServer;
  let runtimes: BrokenRuntimes;
  beforeAll(async () => {
    api = await startKubeApiServer(await kubePrograms(image));
    runtimes = await brokenRuntimes(api.kubeconfig, await readFile(CRD, 'utf8'));
  }, START_MS);
  afterAll(async () => {
    await runtimes?.close();
    await api?.close();
  });

  const explain = (swarm: string, kubeconfig = api.kubeconfig) =>
    why(
      {
        name: 'why',
        swarm,
        namespace: 'backend',
        kubeconfig,
        context: undefined,
        runbooks: 'https://docs.test/runbooks/',
      },
      {},
    );
  const kinds = ({ json }: Awaited<ReturnType<typeof explain>>) =>
    json.chain.map(({ kind, reason }) => ({ kind, reason }));

  it('leads from the condition of a crashing runtime to the last error of its previous run', async () => {
    const { name, pod } = await runtimes.create({
      ready: ['CrashLoopBackOff', 'The runtime keeps stopping, last with exit code 1.'],
      container: CRASHED,
      events: [{ kind: 'Pod', reason: 'BackOff', message: 'Back-off restarting failed container', count: 7 }],
    });
    api.logs.set(
      `userswarms/${pod}/agent-runtime?previous=true`,
      [
        '{"level":"info","msg":"starting"}',
        '{"level":"fatal","msg":"invalid configuration","err":{"message":"USWARM_MODEL_TIMEOUT_MS must be a number"}}',
        '{"level":"info","msg":"stopped"}',
        '',
      ].join('\n'),
    );
    const found = await explain(name);
    expect(kinds(found)).toEqual([
      { kind: 'condition', reason: 'CrashLoopBackOff' },
      { kind: 'event', reason: 'BackOff' },
      { kind: 'pod', reason: 'CrashLoopBackOff' },
      { kind: 'log', reason: null },
    ]);
    expect(found.json.chain.at(-1)).toMatchObject({
      about: 'Container agent-runtime, previous run',
      message: 'invalid configuration: USWARM_MODEL_TIMEOUT_MS must be a number',
    });
    expect(found.text).toContain('agent-runtime: CrashLoopBackOff');
    expect(found.text).toContain('4 restarts; last termination: Error, exit code 1');
    expect(found.text.split('\n').at(-1)).toBe(
      `next: CrashLoopBackOff: ${REASON_ADVICE.CrashLoopBackOff.cause} ${REASON_ADVICE.CrashLoopBackOff.advice} ` +
        'Runbook: https://docs.test/runbooks/UswarmRuntimesStuckProgressing.md',
    );
    expect(found.text.split('\n').length).toBeLessThanOrEqual(24);
  });

  it('reads the current log while the previous one no longer exists', async () => {
    const { name, pod } = await runtimes.create({
      ready: ['CrashLoopBackOff', 'It keeps stopping.'],
      container: CRASHED,
    });
    api.logs.set(`userswarms/${pod}/agent-runtime`, 'Error: no space left on device\n    at main.js:1:1\n');
    const { json } = await explain(name);
    expect(json.chain.at(-1)).toMatchObject({
      about: 'Container agent-runtime',
      message: 'Error: no space left on device',
    });
  });

  it('shows the end of the log in the status of the pod if the log cannot be read', async () => {
    const message = '{"level":"fatal","msg":"the key is missing"}\n';
    const { name } = await runtimes.create({
      ready: ['CrashLoopBackOff', 'It keeps stopping.'],
      container: { ...CRASHED, lastState: { terminated: { exitCode: 1, reason: 'Error', message } } },
    });
    const { json, text } = await explain(name);
    expect(json.chain.at(-1)).toMatchObject({ kind: 'log', message: 'the key is missing' });
    expect(text).toMatch(/^not read +Log of agent-runtime: /m);
  });

  it('names the image that cannot be pulled, and asks for no log', async () => {
    const { name } = await runtimes.create({
      ready: ['ImagePullBackOff', 'The image r.test/runtime:2 cannot be pulled: not found.'],
      container: PULLING,
      events: [{ kind: 'Pod', reason: 'Failed', message: 'Failed to pull image "r.test/runtime:2": not found' }],
    });
    const found = await explain(name);
    expect(kinds(found)).toEqual([
      { kind: 'condition', reason: 'ImagePullBackOff' },
      { kind: 'event', reason: 'Failed' },
      { kind: 'pod', reason: 'ImagePullBackOff' },
    ]);
    expect(found.json.unreadable).toEqual([]);
  });

  it('shows the quota that refuses the pod, from the ReplicaSet', async () => {
    const refused = 'pods "x" is forbidden: exceeded quota: runtimes, requested: pods=1, used: pods=5, limited: pods=5';
    const { name } = await runtimes.create({
      ready: ['QuotaExceeded', 'A ResourceQuota of the namespace is exhausted.'],
      events: [{ kind: 'ReplicaSet', reason: 'FailedCreate', message: refused, count: 12 }],
    });
    const found = await explain(name);
    expect(kinds(found)).toEqual([
      { kind: 'condition', reason: 'QuotaExceeded' },
      { kind: 'event', reason: 'FailedCreate' },
      { kind: 'pod', reason: 'NoPod' },
    ]);
    expect(found.text).toMatch(
      /^event +ReplicaSet userswarms\/agent-runtime-\S+, 12 times, \d+s ago\n +FailedCreate: pods "x"/m,
    );
  });

  it('shows why the scheduler finds no node', async () => {
    const message = '0/3 nodes are available: 3 Insufficient cpu.';
    const { name } = await runtimes.create({
      ready: ['Unschedulable', `No node fits the pod: ${message}`],
      unschedulable: message,
      events: [{ kind: 'Pod', reason: 'FailedScheduling', message }],
    });
    const found = await explain(name);
    expect(found.json.chain.at(-1)).toMatchObject({ kind: 'pod', message: expect.stringContaining(message) });
    // The Event only repeats the condition.
    expect(found.json.chain.map(({ kind }) => kind)).toEqual(['condition', 'pod']);
  });

  it('reports that nothing is to be done for a ready runtime, whatever happened before', async () => {
    const { name } = await runtimes.create({
      container: { ...CRASHED, ready: true, state: { running: { startedAt: '2026-11-30T00:00:00Z' } } },
      events: [{ kind: 'Pod', reason: 'BackOff', message: 'Back-off restarting failed container' }],
    });
    const { json, text } = await explain(name);
    expect(json).toMatchObject({ healthy: true, chain: [], next: { runbook: null } });
    expect(text).toMatch(/^workspace-\S+ is Ready \(Available\), for \d+s\.\nnext: Nothing\.$/);
  });

  it('reports in one sentence that a workspace is unknown', async () => {
    await expect(explain('workspace-nobody')).rejects.toThrow(
      /^UserSwarm workspace-nobody not found\. The orchestrator creates one per workspace: see uswarmctl workspace show <id>/,
    );
  });

  describe('with the rights of support', () => {
    it('needs no more than the documented roles', async () => {
      await runtimes.bindDocumentedRoles();
      const { name, pod } = await runtimes.create({ ready: ['CrashLoopBackOff', 'It stops.'], container: CRASHED });
      api.logs.set(`userswarms/${pod}/agent-runtime?previous=true`, 'fatal: the model is unknown\n');
      const { json } = await explain(name, api.supportKubeconfig);
      expect(json.chain.at(-1)).toMatchObject({ kind: 'log', message: 'fatal: the model is unknown' });
      expect(json.unreadable).toEqual([]);
    });
  });
});
