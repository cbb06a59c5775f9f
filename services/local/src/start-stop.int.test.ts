import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { MessageData } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, identifyProcess, type ProcessIdentity, stillRuns, waitForExit } from '@uswarm/dev-servers';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { newDataFolder, type RunningProgram, runLocalMode, startLocalMode } from '../test/local.js';
import { childrenOf, loggedRuntimes } from '../test/processes.js';
import { checkPortFree } from './port-check.js';

/** A user's data. */
interface UserData {
  profile: unknown;
  workspaceId: string;
  conversationId: string;
  messages: unknown[];
}

/** Signs the same user in on the current port. */
async function ada({ url, issuer }: RunningProgram): Promise<TestClient> {
  const token = await developmentToken(issuer, 'ada@example.com');
  return startTestClient({ restUrl: url, socketUrl: url, token });
}

async function belongingsOf({ workspaceId, conversationId, api }: TestClient): Promise<UserData> {
  const { data: profile } = (await api('GET', '/v1/users/profile')).body as { data: unknown };
  const list = `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
  const { data } = (await api('GET', list)).body as { data: MessageData[] };
  // Without the agents, whose activity changes.
  const messages = data.map(({ id, role, content, created_at: at }) => ({ id, role, content, at }));
  return { profile, workspaceId, conversationId, messages };
}

describe('local mode as a process', () => {
  let directory: string;
  let local: RunningProgram;
  let client: TestClient;
  let children: ProcessIdentity[];
  let before: UserData;
  const start = async (): Promise<void> => {
    local = await runLocalMode({ USWARM_DATA_DIR: directory });
    client = await ada(local);
  };
  const remember = async (): Promise<void> => {
    await client.ask('Please keep this');
    before = await belongingsOf(client);
    children = childrenOf(local.program.pid);
    client.close();
  };
  const running = (): ProcessIdentity[] => [
    ...children.filter(stillRuns),
    ...loggedRuntimes(directory).flatMap((pid) => identifyProcess(pid) ?? []),
  ];

  beforeAll(async () => {
    directory = await newDataFolder();
    await start();
    await remember();
  });
  afterAll(async () => {
    client?.close();
    await local?.program.stop('SIGKILL');
    for (const child of children?.filter(stillRuns) ?? []) process.kill(child.pid, 'SIGKILL');
    await rm(path.dirname(directory), { recursive: true, force: true });
  });

  describe('stopped by Ctrl-C', () => {
    let code: number | null;
    beforeAll(async () => {
      code = await local.program.stop('SIGINT');
    });

    it('exits with 0 and reports that everything is stopped', () => {
      expect(code).toBe(0);
      expect(local.program.stdout()).toMatch(/\nStopping\nEverything is stopped; your data is kept\.\n$/);
      expect(local.program.stderr()).toBe('');
    });

    it('stops Postgres and all runtimes', () => {
      expect(children.length).toBeGreaterThanOrEqual(2);
      expect(loggedRuntimes(directory).length).toBeGreaterThanOrEqual(1);
      expect(running()).toEqual([]);
    });

    it('releases its port', async () => {
      await expect(checkPortFree({ port: Number(new URL(local.url).port) })).resolves.toBeUndefined();
    });

    it('removes local.json and the lock', () => {
      expect(existsSync(path.join(directory, 'local.json'))).toBe(false);
      expect(existsSync(path.join(directory, 'lock'))).toBe(false);
    });
  });

  describe('restarted on another port', () => {
    let first: RunningProgram;
    beforeAll(async () => {
      first = local;
      await start();
    });

    it('keeps the user, the conversation and the messages', async () => {
      expect(local.url).not.toBe(first.url);
      expect(before.messages).toHaveLength(2);
      expect(await belongingsOf(client)).toEqual(before);
    });

    it('continues the conversation', async () => {
      await client.ask('And this');
      expect((await belongingsOf(client)).messages.slice(2)).toEqual(before.messages);
    });
  });

  describe('restarted after kill -9', () => {
    let survivors: ProcessIdentity[];
    beforeAll(async () => {
      await remember();
      await local.program.stop('SIGKILL');
      survivors = children.filter(stillRuns);
      await start();
    });

    it('ends the processes that the killed instance left behind', async () => {
      expect(survivors.length).toBeGreaterThanOrEqual(2);
      const gone = await Promise.all(survivors.map((process) => waitForExit(process, 10_000)));
      expect(gone).not.toContain(false);
    });

    it('keeps all messages and answers', async () => {
      expect(await belongingsOf(client)).toEqual(before);
      const { done } = await client.ask('Are you well?');
      expect(done.payload['status']).toBe('delivered');
    });
  });

  describe('stopped by SIGTERM', () => {
    it('exits with 0 and stops all its processes', async () => {
      children = childrenOf(local.program.pid);
      client.close();
      expect(await local.program.stop('SIGTERM')).toBe(0);
      expect(children.length).toBeGreaterThanOrEqual(2);
      expect(running()).toEqual([]);
    });
  });
});

describe('local mode interrupted during startup', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await newDataFolder();
  });
  afterAll(() => rm(path.dirname(directory), { recursive: true, force: true }));

  it.each([/Starting Postgres/, /Starting the services/])(
    'stops what it has started at %s, and starts the next time',
    async (step) => {
      const env = { USWARM_DATA_DIR: directory, USWARM_PORT: String(await freePort()) };
      const interrupted = startLocalMode(env);
      await interrupted.printed(step);
      let seen: ProcessIdentity[] = [];
      const watch = setInterval(() => (seen = [...seen, ...childrenOf(interrupted.pid)]), 20);
      expect(await interrupted.stop('SIGINT')).toBe(0);
      clearInterval(watch);
      expect(interrupted.output()).not.toContain('uswarm is running');
      expect(interrupted.output()).toMatch(/\nStopping\nEverything is stopped; your data is kept\.\n$/);
      expect(interrupted.stderr()).toBe('');
      expect(seen.filter(stillRuns)).toEqual([]);

      const next = await runLocalMode(env);
      expect(await next.stop()).toBe(0);
    },
  );
});
