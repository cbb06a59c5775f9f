import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LegalStatus } from '@uswarm/contract';
import type { ApiClient } from '../../test/api-client.js';
import { untilBlocked } from '../../test/lock-waits.js';
import { type Home, startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

describe('a request whose user or workspace is deleted while it runs', () => {
  let uswarm: TestOrchestrator;
  let versions: { terms_of_service_version: string };
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    const { body } = await uswarm.anonymous.get<{ data: LegalStatus }>('/v1/legal');
    versions = { terms_of_service_version: body.data.terms_of_service_version };
  });
  afterAll(() => uswarm.close());

  /**
   * The request reads the row before its deletion is committed, and refers to it afterwards. @returns the error code
   */
  async function refusalDuring(
    [table, id]: ['users' | 'workspaces', string],
    client: ApiClient,
    [path, body]: [path: string, body: unknown],
  ): Promise<string> {
    const { request } = await uswarm.database.transaction().execute(async (tx) => {
      await tx.deleteFrom(table).where('id', '=', id).execute();
      const started = client.refusal('POST', path, body);
      await untilBlocked(uswarm.database);
      return { request: started };
    });
    return request;
  }

  it.each<[string, (home: Home) => [path: string, body: unknown]]>([
    ['acceptLegal', () => ['/v1/users/legal/accept', versions]],
    ['setPushToken', () => ['/v1/push-token', { push_token: `fcm:${crypto.randomUUID()}` }]],
    ['createWorkspace', () => ['/v1/workspaces', { name: 'Garden' }]],
    ['createConversation', ({ workspace }) => [`${workspace}/conversations`, { type: 'swarm' }]],
  ])('returns user_deleted for %s', async (_operation, requestOf) => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const client = user.with({ 'x-device-id': 'phone', 'idempotency-key': crypto.randomUUID() });
    expect(await refusalDuring(['users', await uswarm.idOf(user)], client, requestOf(home))).toBe('user_deleted');
  });

  it('returns agent_not_found for a new memory', async () => {
    const user = await uswarm.user();
    const { workspaceId, agents } = await uswarm.home(user);
    const memory = { key: 'tea', content: 'Likes green tea.' };
    const path = `/v1/agents/${agents[0]?.id}/memories`;
    expect(await refusalDuring(['workspaces', workspaceId], user, [path, memory])).toBe('agent_not_found');
  });
});
