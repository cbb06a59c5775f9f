import { describe, expect, it } from '@jest/globals';
import { parseSigningKey, verifyMcpToken } from '@uswarm/service-kit';
import { SIGNING_KEY } from '../test/webhook-input.js';
import { createTokenSource } from './token-cache.js';

const key = parseSigningKey(SIGNING_KEY);

describe('tokens of workspaces', () => {
  it('are for one workspace each, and the same bytes from every source', async () => {
    const tokenOf = createTokenSource(key);
    expect(await verifyMcpToken([key], await tokenOf('a'))).toBe('a');
    expect(await tokenOf('a')).not.toBe(await tokenOf('b'));
    expect(await createTokenSource(key)('a')).toBe(await tokenOf('a'));
  });

  it('stay right beyond the capacity', async () => {
    const tokenOf = createTokenSource(key, 2);
    for (const workspace of ['a', 'b', 'c', 'a', 'c']) {
      expect(await verifyMcpToken([key], await tokenOf(workspace))).toBe(workspace);
    }
  });
});
