import type { KeyObject } from 'node:crypto';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { AgentRuntime } from '@uswarm/runtime-proto';
import { createCallTokenVerifier } from '@uswarm/service-kit';
import type { Binding } from './binding.js';

type Verify = ReturnType<typeof createCallTokenVerifier>;

export interface CallTokenDeps {
  publicKey: KeyObject;
  binding: Pick<Binding, 'workspaceId'>;
  /** Undefined without a pool. */
  poolMember: string | undefined;
  /** Called for each call with a valid token. */
  onCall: () => void;
}

/**
 * Checks the token before the body is read, so an unauthenticated call costs only its headers.
 * @throws ConnectError UNAUTHENTICATED without details
 */
export function requireCallToken({ publicKey, binding, poolMember, onCall }: CallTokenDeps) {
  const verifyBind = poolMember === undefined ? undefined : createCallTokenVerifier(publicKey, poolMember);
  let verifyOther: Verify | undefined;

  /** Undefined if no token allows the call: only a pool's runtime can be bound, and until then nothing else. */
  function verifierOf(method: string): Verify | undefined {
    if (method === AgentRuntime.method.bind.name) return verifyBind;
    const workspaceId = binding.workspaceId();
    if (workspaceId === undefined) return undefined;
    return (verifyOther ??= createCallTokenVerifier(publicKey, workspaceId));
  }

  return async ({ requestHeader, method }: Pick<HandlerContext, 'requestHeader' | 'method'>): Promise<void> => {
    const [, token] = /^Bearer (\S+)$/i.exec(requestHeader.get('authorization') ?? '') ?? [];
    if (token === undefined) throw new ConnectError('a call token is required', Code.Unauthenticated);
    const verify = verifierOf(method.name);
    if (verify === undefined) throw new ConnectError('the call is not possible', Code.Unauthenticated);
    try {
      await verify(token);
    } catch (error) {
      throw new ConnectError('the call token is not valid', Code.Unauthenticated, undefined, undefined, error);
    }
    onCall();
  };
}
