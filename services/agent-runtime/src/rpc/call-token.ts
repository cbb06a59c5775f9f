import type { KeyObject } from 'node:crypto';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { verifyCallToken } from '@uswarm/service-kit';

export interface CallTokenDeps {
  publicKey: KeyObject;
  workspaceId: string;
  /** Called for every call that shows a valid token. */
  onCall: () => void;
}

/**
 * A request gate: it runs before anything of the body is read, so strangers cost a header.
 * @throws ConnectError UNAUTHENTICATED, without saying which part of the token is wrong.
 */
export function requireCallToken({ publicKey, workspaceId, onCall }: CallTokenDeps) {
  return async ({ requestHeader }: Pick<HandlerContext, 'requestHeader'>): Promise<void> => {
    const [, token] = /^Bearer (\S+)$/i.exec(requestHeader.get('authorization') ?? '') ?? [];
    if (token === undefined) throw new ConnectError('a call token is required', Code.Unauthenticated);
    try {
      await verifyCallToken(publicKey, token, workspaceId);
    } catch (error) {
      throw new ConnectError('the call token is not valid', Code.Unauthenticated, undefined, undefined, error);
    }
    onCall();
  };
}
