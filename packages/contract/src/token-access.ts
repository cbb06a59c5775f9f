import { z } from 'zod';
import { ApiError } from './errors.js';
import { Id } from './resources/primitives.js';
import type { TokenScope } from './resources/api-token.js';

/** An API token's limits. Signed-in users have none: they may do everything. */
export const TokenAccess = z.object({
  /** A later release can add scopes. */
  scopes: z.array(z.string()),
  /** Null: all workspaces of the user. */
  workspace_ids: z.array(Id).nullable(),
});
export type TokenAccess = z.output<typeof TokenAccess>;

/** `write` includes `read`. */
const INCLUDED_IN: Record<TokenScope, readonly string[]> = { read: ['read', 'write'], write: ['write'] };

/** @throws ApiError `token_not_permitted` */
export function requireScope(access: TokenAccess | null, scope: TokenScope): void {
  if (access === null || INCLUDED_IN[scope].some((name) => access.scopes.includes(name))) return;
  throw new ApiError('token_not_permitted', { extra: { scope } });
}

export function reachesWorkspace(access: TokenAccess | null, workspaceId: string): boolean {
  return access === null || access.workspace_ids === null || access.workspace_ids.includes(workspaceId.toLowerCase());
}

export function isSameAccess(one: TokenAccess | null, other: TokenAccess | null): boolean {
  return textOf(one) === textOf(other);
}

function textOf(access: TokenAccess | null): string {
  if (access === null) return '';
  return JSON.stringify([access.scopes.toSorted(), access.workspace_ids?.toSorted() ?? null]);
}
