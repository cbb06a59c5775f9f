import { visibleText } from '@uswarm/service-kit';

/**
 * `unreachable`: a retry may succeed. `unsupported`: the server asks for accounts in a way that this client does not
 * know. `invalid`: the server contradicts itself or the rules. `refused`: it registers no clients by itself.
 */
export type AuthorizationFailureKind = 'unreachable' | 'unsupported' | 'invalid' | 'refused';

/** A server whose accounts cannot be connected. The message is for operators. */
export class AuthorizationFailure extends Error {
  override name = 'AuthorizationFailure';
  readonly kind: AuthorizationFailureKind;

  constructor(kind: AuthorizationFailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

const MAX_QUOTED = 200;

/** Text from a server as it may appear in a message: visible, in one line, and cut. */
export function quoted(text: string): string {
  const line = visibleText(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED).toWellFormed()}…` : line;
}
