import { describe, expect, it } from '@jest/globals';
import { ApiError } from './errors.js';
import { isSameAccess, reachesWorkspace, requireScope, type TokenAccess } from './token-access.js';

const [A, B] = ['01931a5e-7c00-7000-8000-00000000000a', '01931a5e-7c00-7000-8000-00000000000b'];
const token = (scopes: string[], workspaceIds: string[] | null = null): TokenAccess => ({
  scopes,
  workspace_ids: workspaceIds,
});

function permits(access: TokenAccess | null, scope: 'read' | 'write'): boolean {
  try {
    requireScope(access, scope);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'token_not_permitted') return false;
    throw error;
  }
}

describe('what an API token permits', () => {
  it.each([
    { scopes: ['read'], read: true, write: false },
    { scopes: ['write'], read: true, write: true },
    { scopes: ['read', 'write'], read: true, write: true },
    { scopes: ['a scope of a later release'], read: false, write: false },
    { scopes: [], read: false, write: false },
  ])('is reading ($read) and writing ($write) with the scopes $scopes', ({ scopes, read, write }) => {
    expect({ read: permits(token(scopes), 'read'), write: permits(token(scopes), 'write') }).toEqual({ read, write });
  });

  it('reaches only listed workspaces, whatever the case of their ids, and without a list all', () => {
    const reached = (access: TokenAccess | null) => [A, B.toUpperCase()].map((id) => reachesWorkspace(access, id));
    expect({
      listed: reached(token(['read'], [B])),
      none: reached(token(['read'], [])),
      all: reached(token(['read'])),
    }).toEqual({ listed: [false, true], none: [false, false], all: [true, true] });
  });

  it('is everything for a signed-in user', () => {
    expect([permits(null, 'write'), reachesWorkspace(null, A)]).toEqual([true, true]);
  });

  it('is the same in any order, and another one for another scope, workspace or without limits', () => {
    const access = token(['read', 'write'], [A, B]);
    const others = [token(['write', 'read'], [B, A]), token(['read'], [A, B]), token(['read', 'write'], [A])];
    expect([...others, token(['read', 'write']), null].map((other) => isSameAccess(access, other))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
