import { randomUUID } from 'node:crypto';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { signedHeaders, openEdgeClient, issueToken } from './edge-client.js';
import type { Session } from './session.js';

/** A user who has just signed up through the edge, with a token from the issuer in the cluster. */
export async function signUp(
  { api, onClose, settings, tools }: Session,
  { unchecked = false }: { unchecked?: boolean } = {},
): Promise<TestClient> {
  const edge = await openEdgeClient(api, settings);
  onClose(() => edge.close());
  const token = await issueToken(tools, `${randomUUID()}@example.com`);
  const mobile = await startTestClient({
    restUrl: edge.url,
    socketUrl: edge.url,
    token,
    credentials: await signedHeaders(api, token),
    fetch: edge.fetch,
    socketOptions: edge.socketOptions,
    // A turn whose runtime is killed ten times takes minutes on a slow machine.
    eventDeadlineMs: 300_000,
    unchecked,
  });
  onClose(async () => {
    // Deletes the runtime; the test may have deleted the account.
    await mobile.api('DELETE', '/v1/auth/delete').catch(() => undefined);
    mobile.close();
  });
  return mobile;
}
