import { describe, expect, it } from '@jest/globals';
import { parseSigningKey, verifyMcpToken } from '@uswarm/service-kit';
import { createToolTokens } from './tool-tokens.js';

const KEY = parseSigningKey(`k1:${'signing-'.repeat(5)}`);
const turn = (workspaceId: string) => ({ workspaceId, agentId: 'a', turnId: 't' });

describe('the tool token of a turn', () => {
  it('ENV-004: is signed with SVC_MCP_SIGNING_KEY for the workspace', async () => {
    const toolTokens = createToolTokens(KEY);
    for (const workspace of ['a', 'b']) {
      const token = await toolTokens(turn(workspace));
      await expect(verifyMcpToken([KEY], token)).resolves.toEqual({
        workspaceId: workspace,
        query: 'none',
        page: 'none',
      });
      await expect(verifyMcpToken([parseSigningKey(`k1:${'another-'.repeat(5)}`)], token)).rejects.toThrow();
    }
  });

  it('is empty without a key', async () => {
    expect(await createToolTokens(undefined)(turn('a'))).toBe('');
  });
});
