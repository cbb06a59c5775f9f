import { describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { READ_PAGE_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { ToolSchema } from '@uswarm/runtime-proto';
import { callHash } from '../../records/approval-card.js';
import { type AnnouncedCallDeps, createAnnouncedCalls } from './announced-calls.js';

const APPROVED = 'https://example.org/approved';

/** In a conversation with content from others, in which the user has approved one address. */
function callsWith({ lookups = 0, status = 'approved' as 'approved' | 'outdated' } = {}) {
  const approval = { status, argumentsHash: callHash(READ_PAGE_TOOL, { url: APPROVED }) };
  const calls = createAnnouncedCalls({
    turn: { id: 't', agent_id: 'a', workspace_id: 'w', user_id: 'u', conversation_id: 'c' },
    rules: {
      untrustedSources: async () => ['web'],
      sharesPrivateText: async () => false,
      knowsAddress: async () => false,
      lookups: async () => lookups,
      permission: async () => 'allow',
    },
    writer: {
      ask: async () => 1,
      findCall: async () => ({ approval }),
      grant: async () => undefined,
    } as unknown as AnnouncedCallDeps['writer'],
    tokenFor: async () => 'token',
  });
  return async (tool: string, query: string) => {
    const call = create(ToolSchema, { callId: 'k', tool, query });
    const { resolution } = await calls.answer(call, { offered: true, untrusted: true, number: 1n });
    return resolution.failed ? resolution.text : resolution.toolToken;
  };
}

describe('an announced call in a conversation with content from others', () => {
  it('is made with the address that the user approved', async () => {
    expect(await callsWith()(READ_PAGE_TOOL, APPROVED)).toBe('token');
  });

  it('is not made with another address than the approved one, and names this reason', async () => {
    expect(await callsWith()(READ_PAGE_TOOL, `${APPROVED}?k=4711`)).toBe(
      'read_page_tool: was not called. The address differs from the one that the user approved.',
    );
  });

  it('is not made if the user approved its address too long ago', async () => {
    expect(await callsWith({ status: 'outdated' })(READ_PAGE_TOOL, APPROVED)).toContain('but too long ago');
  });

  it.each([
    [WEB_SEARCH_TOOL, 'tea'],
    [READ_PAGE_TOOL, APPROVED],
  ])('is not made after five others, and states what to do: %s', async (tool, query) => {
    expect(await callsWith({ lookups: 4 })(tool, query)).toBe('token');
    expect(await callsWith({ lookups: 5 })(tool, query)).toBe(
      `${tool}: was not called. After content from others, a reply can make at most 5 searches and page reads. Answer with what you have, or ask the user to continue.`,
    );
  });
});
