import { expect, it } from '@jest/globals';
import { parseSigningKey, verifyModelToken } from '@uswarm/service-kit';
import { createModelTokens } from './model-tokens.js';

const KEY = parseSigningKey(`m1:${'signing-'.repeat(5)}`);
const TURN = { workspaceId: 'w', agentId: 'a', turnId: 't', purpose: 'turn' } as const;

it('a model token is signed with the key of the gateway for the turn', async () => {
  expect(await verifyModelToken([KEY], await createModelTokens(KEY)(TURN))).toEqual(TURN);
});

it('a model token is empty without a gateway', async () => {
  expect(await createModelTokens(undefined)(TURN)).toBe('');
});
