import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import pg from 'pg';
import { type ApiClient, createApiClient } from './api-client.js';
import { type EntryPoint, startEntryPoint } from './entry-point.js';
import { testEnvironment } from './test-orchestrator.js';

export interface KillableOrchestrators {
  /** Folder for objects, which the processes share. */
  objects: string;
  /** A separate session, whose locks stop the processes. */
  database: pg.Client;
  /** Starts another process. @returns it, and its base URL */
  run(): Promise<[EntryPoint, string]>;
  /** Signs up a user. @returns the token, and a client of the process at the URL */
  signUp(url: string): Promise<{ token: string; user: ApiClient }>;
}

/** Orchestrators as processes on one database, new for each test. */
export function useKillableOrchestrators(environment: Record<string, string>): KillableOrchestrators {
  let programs: EntryPoint[];
  let issuer: Awaited<ReturnType<typeof startOidcIssuer>>;
  let testDatabase: TestDatabase;
  const used = {
    async run(): Promise<[EntryPoint, string]> {
      const settings = { ...testEnvironment(testDatabase.url, issuer), ...environment };
      const program = startEntryPoint('main', { ...settings, OBJECT_DIRECTORY: used.objects });
      programs.push(program);
      return [program, await program.listening];
    },
    async signUp(url: string) {
      const token = await issuer.issueToken({ email: 'ada@example.com', name: 'Ada' });
      const user = createApiClient(url, { 'x-token': token });
      await user.post('/v1/auth/sign-up', undefined, 204);
      return { token, user };
    },
  } as KillableOrchestrators;
  beforeEach(async () => {
    used.objects = await mkdtemp(join(tmpdir(), 'uswarm-objects-'));
    programs = [];
    [issuer, testDatabase] = [await startOidcIssuer(), await createTestDatabase()];
    used.database = new pg.Client({ connectionString: testDatabase.url });
    await used.database.connect();
  });
  afterEach(async () => {
    await used.database.end();
    await Promise.all(programs.map((program) => program.stop()));
    await issuer.close();
    await testDatabase.drop();
    await rm(used.objects, { recursive: true });
  });
  return used;
}
