import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEntryPoint } from '../entry-point.js';
import { testEnvironment } from '../test-orchestrator.js';

const writeContent = fileURLToPath(new URL('../../../../hack/images/write-content.mjs', import.meta.url));

describe('the orchestrator in its image', () => {
  let folder: string;
  let testDatabase: TestDatabase;
  let issuer: OidcIssuer;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
    testDatabase = await createTestDatabase();
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-orchestrator-'));
    await promisify(execFile)(process.execPath, [writeContent, 'orchestrator', folder]);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
    await testDatabase.drop();
    await issuer.close();
  });

  it('migrates an empty database and serves requests from bundled files', async () => {
    const dist = path.join(folder, 'app/dist');
    const migration = startEntryPoint('migrate-main', { DATABASE_URL: testDatabase.url }, dist);
    expect({ code: await migration.exitCode, last: migration.lines.at(-1) }).toEqual({
      code: 0,
      last: expect.stringContaining('0001_initial'),
    });
    const environment = testEnvironment(testDatabase.url, issuer);
    const program = startEntryPoint('main', environment, dist);
    try {
      const health = await fetch(`${await program.listening}/v1/health`);
      expect({ status: health.status, body: await health.json() }).toMatchObject({ status: 200 });
    } finally {
      await program.stop();
    }
  });
});
