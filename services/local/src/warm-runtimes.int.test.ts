import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identifyProcess, stillRuns } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

describe('local mode with a runtime process that waits', () => {
  let local: RunningProgram;
  let client: TestClient;
  beforeAll(async () => {
    local = await runLocalMode({ USWARM_WARM_RUNTIMES: '1' });
  });
  afterAll(async () => {
    client?.close();
    await local?.program.stop('SIGKILL');
    await rm(path.dirname(local.directory), { recursive: true, force: true });
  });

  /** Process ids in the log's lines with this message. */
  const pids = (message: string): number[] =>
    readFileSync(path.join(local.directory, 'uswarm.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}"`))
      .map((line) => (JSON.parse(line) as { pid: number }).pid);
  const waited = (count: number): Promise<number[]> =>
    eventually(() => pids('a runtime process waits for a workspace'), { until: ({ length }) => length >= count });

  it('answers a new user with it, and starts the next one', async () => {
    const [first] = await waited(1);
    const token = await developmentToken(local.issuer, 'ada@example.com');
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    const { done } = await client.ask('Are you well?');
    expect(done.payload['status']).toBe('delivered');
    expect(pids('runtime process listening')).toEqual([first]);
    expect((await waited(2))[1]).not.toBe(first);
  });

  it('leaves no waiting process when it is killed', async () => {
    const waiting = (await waited(2)).slice(1).map((pid) => identifyProcess(pid));
    expect(waiting).toEqual([expect.anything()]);
    await local.program.stop('SIGKILL');
    await eventually(() => waiting.filter((one) => one !== undefined && stillRuns(one)), {
      until: ({ length }) => length === 0,
    });
  });
});
