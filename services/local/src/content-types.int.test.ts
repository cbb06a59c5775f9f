import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { itShowsContentTypes } from '@uswarm/testkit/content-type-tests';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

describe('a runtime process with the demo model', () => {
  let services: SeparateServices;
  let client: TestClient;
  beforeAll(async () => {
    services = await startSeparateServices({ SUMMARY_WORKERS: '0' });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
  });

  itShowsContentTypes(() => client);
});
