import { afterAll, beforeAll, describe } from '@jest/globals';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { itShowsContentTypes } from '@uswarm/testkit/content-type-tests';
import type { TestClient } from '@uswarm/testkit/test-client';
import { openSession, type Session } from '../support/index.js';
import { signUp } from '../support/sign-up.js';

describe('a pod with the demo model', () => {
  let session: Session;
  let mobile: TestClient;
  beforeAll(async () => {
    session = await openSession();
    mobile = await signUp(session);
    await session.ready(userSwarmName(mobile.workspaceId));
  });
  afterAll(() => session?.close());

  itShowsContentTypes(() => mobile);
});
