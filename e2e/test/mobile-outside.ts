import { randomUUID } from 'node:crypto';
import { type Mobile, startMobile } from '../../services/local/test/mobile.js';
import { credentialsOf, fromOutside, issueToken, type Session } from '../src/index.js';

/** A user who has just signed up through the edge, with a token of the issuer in the cluster. */
export async function signUp(
  { api, onClose, settings, tools }: Session,
  { unchecked = false }: { unchecked?: boolean } = {},
): Promise<Mobile> {
  const outside = await fromOutside(api, settings);
  onClose(() => outside.close());
  const token = await issueToken(tools, `${randomUUID()}@example.com`);
  const mobile = await startMobile({
    restUrl: outside.url,
    socketUrl: outside.url,
    token,
    credentials: await credentialsOf(api, token),
    fetch: outside.fetch,
    socketOptions: outside.socketOptions,
    eventDeadlineMs: 120_000,
    unchecked,
  });
  onClose(async () => {
    // Leaves no runtime for the next file; an account that is deleted already is unknown.
    await mobile.api('DELETE', '/v1/auth/delete').catch(() => undefined);
    mobile.close();
  });
  return mobile;
}
