import type { KeyObject } from 'node:crypto';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { createCallTokenVerifier } from '@uswarm/service-kit';

export interface CallTokenDeps {
  publicKey: KeyObject;
  workspaceId: string;
  /** Called for each call with a valid token. */
  onCall: () => void;
}

/**
 * Checks the token before the body is read, so an unauthenticated call costs only its headers.
 * @throws ConnectError UNAUTHENTICATED without details
 */
export function requireCallToken({ publicKey, workspaceId, onCall }: CallTokenDeps) {
  const verify = createCallTokenVerifier(publicKey, workspaceId);
  return async ({ requestHeader }: Pick<HandlerContext, 'requestHeader'>): Promise<void> => {
    const [, token] = /^Bearer (\S+)$/i.exec(requestHeader.get('authorization') ?? '') ?? [];
    if (token === undefined) throw new ConnectError('a call token is required', Code.Unauthenticated);
    try {
      await verify(token);
    } catch (error) {
      throw new ConnectError('the call token is not valid', Code.Unauthenticated, undefined, undefined, error);
    }
    onCall();
  };
}
