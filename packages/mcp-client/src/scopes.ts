import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client';

/** RFC 6749 §3.3 */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]{1,200}$/;
/** Limits what a server can make us store and request. */
const MAX_SCOPES = 50;

export const isScope = (text: string): boolean => SCOPE.test(text);

/**
 * The scopes that a request needs, if a server rejects it because the token has too few: then it was not executed. Empty
 * if the server names none.
 */
export function neededScopesOf({ status, headers }: Response): readonly string[] | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const { error, scope = '' } = extractWWWAuthenticateParams(new Response(null, { headers }));
  return error === 'insufficient_scope' ? scope.split(' ').filter(isScope).slice(0, MAX_SCOPES) : undefined;
}
